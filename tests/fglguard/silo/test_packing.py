import numpy as np
import pytest

from fglguard.encoder import load_encoder
from fglguard.episode import Agent, Episode, Message
from fglguard.errors import SiloError
from fglguard.graph import GraphSettings
from fglguard.silo import Silo, packing


def monologue(number):
    """One agent that nobody hears: a graph without edges."""
    return Episode(
        id=f"m{number}",
        domain="d",
        task=(f"task:{number}",),
        agents=(Agent("a", "agent"),),
        messages=(Message(0, "a", (), f"thought {number}"),),
        final_agent="a",
    )


def test_graphs_without_any_edge_are_stored(tmp_path):
    encoder = load_encoder("hashed-words")
    packed = Silo.create(tmp_path / "s", [monologue(n) for n in range(3)]).prepare(
        encoder, GraphSettings()
    )
    assert packed.src.shape == (0,)
    assert packed.edge_offsets.tolist() == [0, 0, 0, 0]
    assert packed.x == pytest.approx(encoder.encode([f"thought {n}" for n in range(3)]))


def test_blocks_do_not_show_in_the_graphs(tmp_path, make_episode, monkeypatch):
    episodes = [make_episode(n, "a", n % 4 < 2) for n in range(23)]
    encoder = load_encoder("hashed-words")
    whole = Silo.create(tmp_path / "whole", episodes).prepare(encoder, GraphSettings())
    monkeypatch.setattr(packing, "_BLOCK", 5)
    blocks = Silo.create(tmp_path / "blocks", episodes).prepare(encoder, GraphSettings())
    for field in packing.fields(whole):
        assert np.array_equal(getattr(whole, field.name), getattr(blocks, field.name)), field.name


def test_the_command_that_the_error_names_prepares_the_graphs(make_silo):
    import re
    import shlex

    from typer.testing import CliRunner

    from fglguard.cli import app

    silo = make_silo(count=4)
    (fingerprint,) = silo.encoder_fingerprints()
    with pytest.raises(SiloError) as caught:
        silo.graphs(fingerprint, GraphSettings(rounds=1))
    command = shlex.split(re.search(r"`fglguard (.*?)`", str(caught.value))[1])
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert len(silo.graphs(fingerprint, GraphSettings(rounds=1))) == len(silo)
    assert silo.prepared() == [("hashed-words", fingerprint, [1, 3])]
