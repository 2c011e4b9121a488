import json

import numpy as np
import pytest

import fglguard.files
from fglguard.encoder import load_encoder
from fglguard.errors import SiloError
from fglguard.graph import GraphSettings
from fglguard.graph_builder import episode_graph
from fglguard.silo import Silo, open_silos


class CountingEncoder:
    """The hashed-words encoder, counting what it is asked for."""

    def __init__(self):
        self.inner = load_encoder("hashed-words")
        self.name, self.dimension = self.inner.name, self.inner.dimension
        self.fingerprint = self.inner.fingerprint
        self.texts = 0

    def encode(self, texts, *, progress=False):
        self.texts += len(texts)
        return self.inner.encode(texts, progress=progress)


def episodes_of(make_episode, count=30):
    return [make_episode(n, "ab"[n % 2], n % 4 < 2) for n in range(count)]


def test_what_goes_in_comes_out(tmp_path, make_episode):
    episodes = episodes_of(make_episode)
    silo = Silo.create(tmp_path / "s", episodes)
    assert list(silo.episodes()) == episodes
    assert list(silo.episodes(np.array([7, 3]))) == [episodes[7], episodes[3]]
    assert silo.label.tolist() == [int(e.unsafe) for e in episodes]
    assert [silo.domains[code] for code in silo.domain] == [e.domain for e in episodes]


def test_no_task_stands_on_two_sides(tmp_path, make_episode):
    silo = Silo.create(tmp_path / "s", episodes_of(make_episode, 60))
    sides: dict[str, set[int]] = {}
    for episode, split in zip(silo.episodes(), silo.split, strict=True):
        for key in episode.task:
            sides.setdefault(key, set()).add(int(split))
    assert all(len(found) == 1 for found in sides.values())
    assert set(silo.split.tolist()) == {0, 1, 2}


def test_each_distinct_text_is_embedded_once(tmp_path, make_episode):
    episodes = episodes_of(make_episode)
    distinct = {text for episode in episodes for text in episode.texts}
    encoder = CountingEncoder()
    silo = Silo.create(tmp_path / "s", episodes)
    silo.prepare(encoder, GraphSettings())
    assert encoder.texts == len(distinct)
    Silo.open(tmp_path / "s").prepare(encoder, GraphSettings(rounds=0))
    assert encoder.texts == len(distinct)


def test_stored_graphs_equal_those_built_live(tmp_path, make_episode):
    episodes = episodes_of(make_episode)
    encoder = load_encoder("hashed-words")
    silo = Silo.create(tmp_path / "s", episodes)
    packed = silo.prepare(encoder, GraphSettings())
    for index, episode in enumerate(episodes):
        live = episode_graph(episode, encoder.encode(episode.texts), GraphSettings())
        stored = packed.select([index])
        assert stored.x == pytest.approx(live.x, abs=1e-6)
        assert stored.src.tolist() == live.src.tolist()
        assert stored.dst.tolist() == live.dst.tolist()
        assert stored.final.tolist() == [live.final]


def test_private_files_are_the_owners_alone(make_silo):
    silo = make_silo()
    assert silo.path.stat().st_mode & 0o077 == 0
    for file in silo.path.rglob("*"):
        assert file.stat().st_mode & 0o077 == 0, file


@pytest.mark.parametrize("step", range(1, 40))
def test_a_write_that_dies_leaves_the_old_silo(tmp_path, make_episode, monkeypatch, step):
    """The n-th rename raises, for every n until the overwrite goes through."""
    old = episodes_of(make_episode)
    Silo.create(tmp_path / "s", old)
    from pathlib import Path

    calls, rename = [0], Path.replace

    def dying(self, target):
        calls[0] += 1
        if calls[0] == step:
            raise OSError("no space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", dying)
    try:
        Silo.create(tmp_path / "s", episodes_of(make_episode, 10), overwrite=True)
    except OSError:
        monkeypatch.undo()
        assert list(Silo.open(tmp_path / "s").episodes()) == old
    else:
        monkeypatch.undo()
        assert len(Silo.open(tmp_path / "s")) == 10


def test_errors_name_what_is_wrong(tmp_path, make_episode):
    with pytest.raises(SiloError, match="nowhere"):
        Silo.open(tmp_path / "nowhere")
    silo = Silo.create(tmp_path / "s", episodes_of(make_episode))
    with pytest.raises(SiloError, match="s"):
        Silo.create(tmp_path / "s", episodes_of(make_episode))
    with pytest.raises(SiloError, match="embed"):
        silo.graphs("minilm-0000", GraphSettings())
    manifest = tmp_path / "s" / "manifest.json"
    record = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(record | {"schema": 99}))
    with pytest.raises(SiloError, match="99"):
        Silo.open(tmp_path / "s")
    manifest.write_text("{")
    with pytest.raises(SiloError, match=r"manifest\.json"):
        Silo.open(tmp_path / "s")


def test_duplicate_ids_are_refused(tmp_path, make_episode):
    with pytest.raises(SiloError, match="a-0"):
        Silo.create(tmp_path / "s", [make_episode(0, "a", True)] * 2)
    assert not (tmp_path / "s" / "manifest.json").exists()


def test_a_folder_of_silos_opens_in_order(make_silo):
    two, one = make_silo(("b",), name="two"), make_silo(("a",), name="one")
    assert [silo.path for silo in open_silos(one.path.parent)] == [one.path, two.path]
    assert [silo.path for silo in open_silos(two.path)] == [two.path]


def test_verify_finds_a_changed_byte(make_silo):
    silo = make_silo()
    silo.verify()
    (file,) = silo.path.rglob("episodes*.jsonl")
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.write_bytes(data)
    with pytest.raises(SiloError, match="episodes"):
        silo.verify()
    assert fglguard.files.sha256_of(file)
