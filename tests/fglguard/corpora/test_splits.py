from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fglguard.corpora.splits import assign_splits, task_groups
from fglguard.errors import SettingsError

REAL = ("agentdojo", "rjudge", "agent_safetybench", "openagentsafety", "debate", "gsafeguard")

keys = st.one_of(
    st.integers(0, 6).map("user:{}".format),
    st.integers(0, 6).map("injection:{}".format),
    st.integers(0, 30).map("task:{}".format),
)
episode = st.tuples(
    st.lists(keys, min_size=1, max_size=3).map(tuple),
    st.sampled_from(["banking", "slack", "travel"]),
    st.sampled_from([True, False, None]),
)


def sides_of_keys(tasks, codes):
    sides = defaultdict(set)
    for own, code in zip(tasks, codes.tolist(), strict=True):
        if code != 255:
            for key in own:
                sides[key].add(code)
    return sides


def grid(users, injections):
    """Every user task alone (safe) and with every injection task (unsafe on a diagonal band)."""
    tasks, labels = [], []
    for user in range(users):
        tasks.append((f"user:{user}",))
        labels.append(False)
        for injection in range(injections):
            tasks.append((f"user:{user}", f"injection:{injection}"))
            labels.append((user + injection) % 3 != 0)
    return tasks, labels


@settings(max_examples=40, deadline=None)
@given(st.lists(episode, min_size=1, max_size=60), st.integers(0, 2**32 - 1))
def test_no_key_stands_on_two_sides(episodes, seed):
    tasks, strata, labels = zip(*episodes, strict=True)
    codes = assign_splits(tasks, seed=seed, strata=strata, labels=labels)
    assert codes.dtype == np.uint8
    assert codes.shape == (len(tasks),)
    assert set(codes.tolist()) <= {0, 1, 2, 255}
    assert all(len(sides) == 1 for sides in sides_of_keys(tasks, codes).values())
    again = assign_splits(tasks, seed=seed, strata=strata, labels=labels)
    assert np.array_equal(codes, again)


@settings(max_examples=60, deadline=None)
@given(st.lists(episode, min_size=1, max_size=60))
def test_groups_are_the_connected_components_found_by_brute_force(episodes):
    """Unless a component is cut, i.e. ties several keys and holds more than half of all."""
    tasks = [own for own, _, _ in episodes]
    groups = task_groups(tasks)
    label = list(range(len(tasks)))
    for _ in tasks:
        for i, own in enumerate(tasks):
            for j, other in enumerate(tasks):
                if set(own) & set(other):
                    label[i] = label[j] = min(label[i], label[j])
    sizes = np.bincount(label, minlength=len(tasks))
    tied = [{k for j, own in enumerate(tasks) if label[j] == c for k in own} for c in label]
    grids = any(sizes[c] > len(tasks) / 2 and len(tied[i]) > 1 for i, c in enumerate(label))
    for i, c in enumerate(label):
        cut = grids and len(tied[i]) > 1 and sizes[c] > 0.05 * len(tasks)
        for j, d in enumerate(label):
            same = c == d and (not cut or tasks[i][0] == tasks[j][0])
            assert (groups[i] == groups[j]) == same
    assert list(dict.fromkeys(groups.tolist())) == list(range(groups.max() + 1))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=40, max_size=120),
    st.sampled_from([(0.6, 0.2, 0.2), (0.8, 0.1, 0.1), (0.5, 0.5, 0.0), (1.0, 0.0, 0.0)]),
)
def test_small_tasks_give_the_wanted_fractions_in_each_stratum(sizes, fractions):
    """Tasks of at most 4 of at least 40 episodes: shares can come within 4 / 40 of the wanted."""
    tasks = [(f"task:{number}",) for number, size in enumerate(sizes) for _ in range(size)]
    codes = assign_splits(tasks, fractions=fractions)
    for code, wanted in enumerate(fractions):
        assert abs((codes == code).mean() - wanted) <= 0.1
        assert wanted > 0 or not (codes == code).any()
    assert not (codes == 255).any()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("users", "injections"), [(16, 9), (21, 5), (40, 14)])
def test_a_grid_of_user_and_injection_tasks_is_cut(users, injections, seed):
    """At least 60 % are kept, though plain .6/.2/.2 shares of both keys would keep but 44 %."""
    tasks, labels = grid(users, injections)
    codes = assign_splits(tasks, seed=seed, labels=labels)
    assert (codes != 255).mean() >= 0.6
    assert all(len(sides) == 1 for sides in sides_of_keys(tasks, codes).values())
    for side in range(3):
        assert {labels[i] for i in np.flatnonzero(codes == side)} == {True, False}
    clean = [i for i, own in enumerate(tasks) if len(own) == 1]
    assert (codes[clean] != 255).all()
    assert task_groups(tasks).max() == users - 1


def test_strata_and_labels_are_balanced():
    """100 episodes of each stratum and label, each its own task: 60, 20, 20 within 8."""
    kinds = [(stratum, label) for stratum in "ab" for label in (True, False) for _ in range(100)]
    tasks = [(f"task:{number}",) for number in range(len(kinds))]
    codes = assign_splits(
        tasks, strata=[s for s, _ in kinds], labels=[label for _, label in kinds], seed=3
    )
    for kind in set(kinds):
        own = codes[[other == kind for other in kinds]]
        assert np.abs(np.bincount(own, minlength=3) - [60, 20, 20]).max() <= 8


def test_a_task_in_two_domains_stays_on_one_side():
    tasks = [(f"task:{number % 30}",) for number in range(120)]
    strata = ["a" if number < 60 else "b" for number in range(120)]
    codes = assign_splits(tasks, strata=strata)
    assert all(len(sides) == 1 for sides in sides_of_keys(tasks, codes).values())
    for name in "ab":
        own = codes[[stratum == name for stratum in strata]]
        assert np.abs(np.bincount(own, minlength=3) / 60 - [0.6, 0.2, 0.2]).max() <= 0.05


def test_both_labels_reach_every_side_where_a_rare_one_can():
    """Three unsafe tasks of 90: one a side, which a random choice gives in 1 of 7 draws."""
    tasks = [(f"task:{number}",) for number in range(90)]
    labels = [number < 3 for number in range(90)]
    codes = assign_splits(tasks, labels=labels)
    assert sorted(codes[:3].tolist()) == [0, 1, 2]


def test_another_seed_gives_another_assignment():
    tasks = [(f"task:{number}",) for number in range(100)]
    assert not np.array_equal(assign_splits(tasks, seed=1), assign_splits(tasks, seed=2))


def test_no_episodes_no_sides():
    assert assign_splits([]).shape == task_groups([]).shape == (0,)


@pytest.mark.parametrize(
    "fractions", [(0.5, 0.5), (0.6, 0.3, 0.2), (1.2, -0.1, -0.1), (float("nan"), 0.5, 0.5)]
)
def test_fractions_must_be_three_shares(fractions):
    with pytest.raises(SettingsError, match="fractions: expected shares of train, val, test"):
        assign_splits([("task:1",)], fractions=fractions)


def test_arguments_must_agree():
    with pytest.raises(ValueError, match=r"strata: expected one an episode \(1\), got 2"):
        assign_splits([("task:1",)], strata=["a", "b"])
    with pytest.raises(ValueError, match=r"tasks\[0\]: expected a tuple of at least one key"):
        assign_splits([()])


@pytest.mark.parametrize("name", REAL)
def test_real_logs(real, name):
    """No key on two sides; both labels on each where there are both; at least 60 % kept."""
    episodes = real(name, [])
    tasks, labels = [e.task for e in episodes], [e.unsafe for e in episodes]
    codes = assign_splits(tasks, labels=labels)
    assert (codes != 255).mean() >= (0.6 if name == "agentdojo" else 1.0)
    assert all(len(sides) == 1 for sides in sides_of_keys(tasks, codes).values())
    for side in range(3):
        assert {labels[i] for i in np.flatnonzero(codes == side)} == set(labels)
