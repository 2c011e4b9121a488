"""Making and replacing silos: what may fail, and what must then still stand."""

import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from fglguard.corpora.splits import assign_splits, task_groups
from fglguard.episode import write_episodes
from fglguard.errors import SiloError
from fglguard.graph import GraphSettings
from fglguard.silo import Silo


@pytest.fixture
def episodes(make_episode):
    return [make_episode(n, "ab"[n % 2], (True, False, None)[n % 3]) for n in range(24)]


def labelled(codes):
    """These codes, but every third episode, unlabelled in the fixture, in no split."""
    return np.where(np.arange(24) % 3 == 2, 255, codes)


def with_attributes(episode, **attributes):
    return replace(episode, attributes=attributes)


def test_unlabelled_episodes_are_kept_and_coded(tmp_path, episodes):
    silo = Silo.create(tmp_path / "s", episodes)
    assert silo.label.tolist() == [1, 0, -1] * 8
    assert silo.label.dtype == np.int8


def test_clean_says_whether_an_attack_was_present(tmp_path, episodes):
    marked = [
        with_attributes(episodes[0], attack="none"),
        with_attributes(episodes[1], attack="tool_knowledge"),
        episodes[2],
    ]
    assert Silo.create(tmp_path / "s", marked).clean.tolist() == [1, 0, -1]


def test_splits_are_assigned_by_task_within_domains(tmp_path, episodes):
    """The reference is a direct call of the split module with the episodes' own columns."""
    silo = Silo.create(tmp_path / "s", episodes, seed=5, fractions=(0.5, 0.25, 0.25))
    tasks, domains = [e.task for e in episodes], [e.domain for e in episodes]
    expected = assign_splits(
        tasks,
        fractions=(0.5, 0.25, 0.25),
        seed=5,
        strata=domains,
        labels=[e.unsafe for e in episodes],
    )
    assert silo.split.tolist() == labelled(expected).tolist()
    assert silo.group.tolist() == task_groups(tasks, domains).tolist()


def test_splits_that_every_episode_carries_are_kept(tmp_path, episodes):
    names = ["train", "val", "test"] * 8
    carried = [with_attributes(e, split=s) for e, s in zip(episodes, names, strict=True)]
    assert Silo.create(tmp_path / "all", carried).split.tolist() == labelled([0, 1, 2] * 8).tolist()
    partly = Silo.create(tmp_path / "some", [*carried[:-1], episodes[-1]])
    assert partly.split.tolist() == Silo.create(tmp_path / "none", episodes).split.tolist()


def test_splits_given_win_and_are_checked(tmp_path, episodes):
    codes = [0, 1, 2, 255] * 6
    assert (
        Silo.create(tmp_path / "s", episodes, splits=codes).split.tolist()
        == labelled(codes).tolist()
    )
    for wrong in (codes[:-1], [0, 1, 2, 7] * 6):
        with pytest.raises(SiloError, match="splits: expected one of 0, 1, 2, 255"):
            Silo.create(tmp_path / "wrong", episodes, splits=wrong)
        assert not (tmp_path / "wrong").exists()


def test_carried_splits_that_put_a_task_on_two_sides_are_refused(tmp_path, episodes):
    shared = [replace(e, task=("user:1", f"injection:{n}")) for n, e in enumerate(episodes)]
    carried = [with_attributes(e, split="train") for e in shared]
    carried[1] = with_attributes(shared[1], split="test")
    with pytest.raises(SiloError, match=r"episode 1: attributes\.split: task .*'train' and in"):
        Silo.create(tmp_path / "s", carried)


def test_no_episodes_make_no_silo(tmp_path):
    with pytest.raises(SiloError, match="at least one episode"):
        Silo.create(tmp_path / "s", iter(()))
    assert not (tmp_path / "s").exists()


def test_a_folder_with_other_files_is_left_alone(tmp_path, episodes):
    (tmp_path / "notes.txt").write_text("keep me")
    with pytest.raises(SiloError, match=r"notes\.txt"):
        Silo.create(tmp_path, episodes, overwrite=True)
    assert [child.name for child in tmp_path.iterdir()] == ["notes.txt"]


def test_a_failed_import_over_a_damaged_silo_removes_nothing(tmp_path, episodes):
    silo = Silo.create(tmp_path / "s", episodes)
    manifest = tmp_path / "s" / "manifest.json"
    good = manifest.read_bytes()
    manifest.write_bytes(b"{")
    with pytest.raises(SiloError, match="used twice"):
        Silo.create(tmp_path / "s", [episodes[0]] * 2, overwrite=True)
    manifest.write_bytes(good)
    assert list(Silo.open(silo.path).episodes()) == episodes


def test_an_open_silo_survives_being_replaced(tmp_path, episodes):
    """Maps hold the old files; what is not mapped yet says so rather than mix two states."""
    old = Silo.create(tmp_path / "s", episodes)
    reader = old.episodes()
    first = next(reader)
    Silo.create(tmp_path / "s", episodes[:3], overwrite=True)
    assert [first, *reader] == episodes
    assert old.label.tolist() == [1, 0, -1] * 8
    with pytest.raises(SiloError, match="imported anew"):
        old.graphs("minilm-0", GraphSettings())
    assert [child.name for child in (tmp_path / "s").glob("data-*")] == ["data-000002"]


KILLED = """
import os, signal, sys
from pathlib import Path
from fglguard.episode import read_episodes
from fglguard.silo import Silo
def dying():
    for number, episode in enumerate(read_episodes(Path(sys.argv[1]))):
        if number == 10:
            os.kill(os.getpid(), signal.SIGKILL)
        yield episode
Silo.create(sys.argv[2], dying(), overwrite=True)
"""


def test_a_writer_that_is_killed_leaves_the_old_silo_and_no_lock(tmp_path, episodes):
    Silo.create(tmp_path / "s", episodes[:5])
    write_episodes(tmp_path / "new.jsonl", episodes)
    arguments = [str(tmp_path / "new.jsonl"), str(tmp_path / "s")]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(Silo.open(tmp_path / "s").episodes()) == episodes[:5]
    again = Silo.create(tmp_path / "s", episodes, overwrite=True, lock_seconds=0)
    assert list(again.episodes()) == episodes
    assert [child.name for child in (tmp_path / "s").glob("data-*")] == [again._data.name]
    assert (tmp_path / "s" / "manifest.json").stat().st_mode & 0o777 == 0o600
