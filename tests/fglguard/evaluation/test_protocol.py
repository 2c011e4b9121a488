"""In every protocol no task stands on two sides, and what is tested is what is held out."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fglguard.episode import Agent, Episode, Message
from fglguard.errors import SettingsError
from fglguard.evaluation.protocol import (
    Facts,
    hold_out,
    leave_domain_out,
    leave_team_size_out,
    leave_topology_out,
    leave_value_out,
    task_disjoint,
    thin_unsafe,
)
from fglguard.silo import Silo

TRAIN, VAL, TEST, OUT = 0, 1, 2, 255


def episode(number, domain="a", team=2, everyone=True, **attributes):
    agents = tuple(Agent(f"agent_{i}", "agent") for i in range(team))
    messages = [Message(0, agents[i].id, (agents[(i + 1) % team].id,), f"{i}") for i in range(team)]
    if everyone:
        others = tuple(a.id for a in agents[1:])
        messages.append(Message(1, agents[0].id, others, "all"))
    return Episode(
        id=f"{domain}-{number}-{team}-{everyone}-{attributes.get('agent_model', '')}",
        domain=domain,
        task=(f"task:{domain}-{number // 2}",),
        agents=agents,
        messages=tuple(messages),
        final_agent=agents[0].id,
        unsafe=number % 4 < 2,
        label_source="human",
        attributes=attributes,
    )


@pytest.fixture
def facts(tmp_path):
    def make(*silos):
        return Facts.of(
            [Silo.create(tmp_path / f"silo{i}", episodes) for i, episodes in enumerate(silos)]
        )

    return make


def sides_of_keys(facts, codes):
    sides = {}
    for keys, code in zip(facts.tasks, codes.tolist(), strict=True):
        for key in keys if code != OUT else ():
            sides.setdefault(key, set()).add(code)
    return sides


def assert_disjoint(facts, codes):
    assert all(len(sides) == 1 for sides in sides_of_keys(facts, codes).values())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sets(st.integers(0, 12), min_size=1, max_size=3),
            st.booleans() | st.none(),
            st.sampled_from("ab"),
            st.booleans(),
        ),
        min_size=2,
        max_size=40,
    ),
    st.integers(0, 3),
)
def test_no_task_stands_on_two_sides(rows, seed) -> None:
    n = len(rows)
    facts = Facts(
        (),
        [tuple(f"task:{key}" for key in sorted(keys)) for keys, _, _, _ in rows],
        [label for _, label, _, _ in rows],
        np.array([domain for _, _, domain, _ in rows]),
        np.ones(n, np.int64),
        np.zeros(n),
    )
    assert_disjoint(facts, task_disjoint(facts, seed))
    held = np.array([out for *_, out in rows])
    if held.any() and not held.all():
        codes = hold_out(facts, held, seed)
        assert_disjoint(facts, codes)
        assert not (held & np.isin(codes, (TRAIN, VAL))).any()
        assert not (~held & (codes == TEST)).any()


def test_the_same_seed_gives_the_same_sides(facts) -> None:
    given_facts = facts([episode(i) for i in range(80)])
    first = task_disjoint(given_facts, 0)
    assert np.array_equal(first, task_disjoint(given_facts, 0))
    assert not np.array_equal(first, task_disjoint(given_facts, 1))
    shares = [np.mean(first == side) for side in (TRAIN, VAL, TEST)]
    assert shares == pytest.approx([0.5, 0.2, 0.3], abs=0.06)


def test_a_suite_whose_tasks_are_its_own_is_tested_whole(facts) -> None:
    rows = [episode(i, suite="x" if i < 20 else "y") for i in range(60)]
    given_facts = facts(rows, [episode(i, "b") for i in range(40)])
    codes = leave_value_out(given_facts, "suite", "x", 0, domain="a")
    suite = given_facts.attribute("suite")
    assert (codes[suite == "x"] == TEST).all()
    assert np.isin(codes[suite != "x"], (TRAIN, VAL)).all()
    assert (codes == VAL).any()
    with pytest.raises(SettingsError, match="suite: expected one of x, y, got 'z'"):
        leave_value_out(given_facts, "suite", "z", 0, domain="a")


def test_another_agent_model_on_the_same_tasks_is_still_task_disjoint(facts) -> None:
    rows = [episode(i, agent_model=model) for model in ("m", "n", "o") for i in range(40)]
    given_facts = facts(rows)
    codes = leave_value_out(given_facts, "agent_model", "m", 0)
    assert_disjoint(given_facts, codes)
    model = given_facts.attribute("agent_model")
    assert set(codes[model == "m"]) == {TEST, OUT}
    assert set(codes[model != "m"]) == {TRAIN, VAL, OUT}


def test_a_domain_is_held_out_whole(facts) -> None:
    given_facts = facts([episode(i) for i in range(40)], [episode(i, "b") for i in range(20)])
    codes = leave_domain_out(given_facts, "b", 0)
    assert (codes[given_facts.domain == "b"] == TEST).all()
    assert set(codes[given_facts.domain == "a"]) == {TRAIN, VAL}
    with pytest.raises(SettingsError, match="expected one of a, b, got 'c'"):
        leave_domain_out(given_facts, "c", 0)


def test_team_size_and_topology_are_read_from_the_messages(facts) -> None:
    """A ring of 4 has 4 of 12 pairs; one that also tells everyone has 6; pairs have both ways."""
    ring = [episode(i, "a", 4, False) for i in range(20)]
    told = [episode(i, "b", 4) for i in range(20)]
    pairs = [episode(i, "c", 2) for i in range(20)]
    given_facts = facts(ring, told, pairs)
    assert given_facts.agents.tolist() == [4] * 40 + [2] * 20
    assert given_facts.density[[0, 20, 40]] == pytest.approx([4 / 12, 6 / 12, 1.0])
    size = leave_team_size_out(given_facts, 2, 0)
    assert ((size == TEST) == (given_facts.agents == 2)).all()
    sparse = leave_topology_out(given_facts, dense=False, seed=0)
    assert ((sparse == TEST) == (given_facts.domain == "a")).all()
    alone = leave_topology_out(given_facts, dense=True, seed=0, domain="b")
    assert ((alone == TEST) == (given_facts.domain == "b")).all()
    with pytest.raises(SettingsError, match="expected one of 2, 4, got 3"):
        leave_team_size_out(given_facts, 3, 0)


def test_holding_out_nothing_or_everything_is_refused(facts) -> None:
    given_facts = facts([episode(i) for i in range(8)])
    for held, what in ((np.zeros(8, bool), "nothing"), (np.ones(8, bool), "every episode")):
        with pytest.raises(SettingsError, match=f"got {what}"):
            hold_out(given_facts, held, 0)


def test_a_corpus_of_one_task_goes_to_one_side(facts) -> None:
    given_facts = facts([episode(i) for i in range(2)])
    codes = task_disjoint(given_facts, 0)
    assert len(set(codes.tolist())) == 1


def test_other_domains_train_whole_beside_a_held_out_agent_model(facts) -> None:
    rows = [episode(i, agent_model=model) for model in ("m", "n") for i in range(40)]
    given_facts = facts(rows, [episode(i, "b") for i in range(40)])
    codes = leave_value_out(given_facts, "agent_model", "m", 0)
    assert set(codes[given_facts.domain == "b"]) == {TRAIN, VAL}


def test_few_unsafe_episodes_are_kept_for_training_and_all_for_test(facts) -> None:
    """76 safe a side of a domain: at 5 % unsafe, 76 x .05 / .95 = 4 unsafe stay."""
    given_facts = facts([episode(i) for i in range(456)])
    unsafe = np.array([label is True for label in given_facts.labels])
    codes = np.array([(TRAIN, VAL, TEST)[(i // 4) % 3] for i in range(456)], dtype=np.uint8)
    thinned = thin_unsafe(given_facts, codes, 0.05, 0)
    for side in (TRAIN, VAL):
        assert [((thinned == side) & kind).sum() for kind in (~unsafe, unsafe)] == [76, 4]
    assert np.array_equal(thinned == TEST, codes == TEST)
    assert np.array_equal(thinned, thin_unsafe(given_facts, codes, 0.05, 0))


def test_episodes_without_a_label_stand_on_no_side(tmp_path) -> None:
    labelled = [episode(number) for number in range(24)]
    unlabelled = [
        dataclasses.replace(one, id=f"{one.id}-again", unsafe=None, label_source=None)
        for one in labelled[:8]
    ]
    facts = Facts.of([Silo.create(tmp_path / "silo", [*labelled, *unlabelled])])
    codes = task_disjoint(facts, 0)
    assert (codes[24:] == OUT).all()
    assert {0, 1, 2} <= set(codes[:24].tolist())
