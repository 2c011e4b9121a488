from dataclasses import replace

import numpy as np
import pytest

from fglguard.errors import SettingsError
from fglguard.partitions import partition
from fglguard.silo import Silo

MODELS = ("model/4", "model:4", "..", "other 3")


@pytest.fixture
def silo(tmp_path, make_episode):
    """120 episodes of four agent models in two domains; every sixth does not say its model.

    Model 0 has the most episodes, model 3 the fewest.
    """
    episodes = []
    for number in range(120):
        model = MODELS[min(number % 11 // 3, 3)]
        known = {} if number % 6 == 5 else {"agent_model": model}
        episode = make_episode(number, "ab"[number // 2 % 2], number % 4 < 2)
        episodes.append(replace(episode, attributes={"suite": "x", **known}))
    return Silo.create(tmp_path / "silo", episodes)


def by_model(silo):
    """Groups of the episodes' own records, largest in training first."""
    groups = {}
    for index, episode in enumerate(silo.episodes()):
        groups.setdefault(episode.attributes.get("agent_model", ""), []).append(index)

    def in_training(value):
        return sum(silo.split[index] == 0 for index in groups[value])

    return {value: groups[value] for value in sorted(groups, key=lambda v: (-in_training(v), v))}


def deal(silo, make_settings, clients, key="agent_model"):
    return partition([silo], make_settings("natural", key=key), clients, seed=0)


def test_one_client_a_value_is_a_group_by(silo, make_settings):
    shares = deal(silo, make_settings, 5)
    assert [share.indices[0].tolist() for share in shares] == list(by_model(silo).values())
    assert {share.domain for share in shares} == {"mixed"}


def test_sites_can_be_names_of_files_and_differ(silo, make_settings):
    """Both names of model 4 become model-4; the second in line gets a number."""
    values = list(by_model(silo))
    sites = [share.site for share in deal(silo, make_settings, 5)]
    names = dict(zip(values, sites, strict=True))
    first, second = (value for value in values if value.startswith("model"))
    assert names == {
        first: "model-4",
        second: "model-4-2",
        "..": "value",
        "other 3": "other-3",
        "": "without-agent_model",
    }


def test_the_last_client_holds_the_smallest_values(silo, make_settings):
    shares = deal(silo, make_settings, 3)
    groups = list(by_model(silo).values())
    assert [share.indices[0].tolist() for share in shares] == [
        groups[0],
        groups[1],
        sorted(index for group in groups[2:] for index in group),
    ]
    assert shares[-1].site == "others"


def test_more_clients_than_values_are_refused_with_the_values(silo, make_settings):
    largest, held = next(iter(by_model(silo).items()))
    trains = int((silo.split[held] == 0).sum())
    with pytest.raises(SettingsError, match=rf"at most 5 .*got 6; .*'{largest}' {trains},"):
        deal(silo, make_settings, 6)


def test_an_unknown_key_is_refused_with_the_keys(silo, make_settings):
    with pytest.raises(
        SettingsError, match=r"one of: agent_model \(4 values\), suite \(1 values\); got 'model'"
    ):
        deal(silo, make_settings, 2, key="model")


def test_a_corpus_without_attributes_says_so(make_silo, make_settings):
    with pytest.raises(SettingsError, match=r"none \(the corpus has no attributes\)"):
        deal(make_silo(), make_settings, 2)


def test_values_without_training_join_the_others(tmp_path, make_episode, make_settings):
    """Values a and b train, c stands in test alone: two clients at most, c with the smaller."""
    values, splits = "aaaabbbcc", [0, 0, 0, 0, 0, 0, 0, 2, 2]
    episodes = [
        replace(make_episode(n, "d", n % 2 == 0), attributes={"key": value})
        for n, value in enumerate(values)
    ]
    silo = Silo.create(tmp_path / "silo", episodes, splits=splits)
    shares = deal(silo, make_settings, 2, key="key")
    assert [share.indices[0].tolist() for share in shares] == [[0, 1, 2, 3], [4, 5, 6, 7, 8]]
    with pytest.raises(SettingsError, match="at most 2"):
        deal(silo, make_settings, 3, key="key")


def test_clients_of_one_domain_have_that_domain(make_silo, make_episode, make_settings, tmp_path):
    episodes = [
        replace(make_episode(n, d, n % 4 < 2), attributes={"suite": f"suite-{d}"})
        for d in "ab"
        for n in range(20)
    ]
    silo = Silo.create(tmp_path / "s", episodes)
    shares = deal(silo, make_settings, 2, key="suite")
    assert {(share.site, share.domain) for share in shares} == {("suite-a", "a"), ("suite-b", "b")}


def test_silos_share_their_values(tmp_path, make_episode, make_settings):
    silos = []
    for name, values in (("one", "xy"), ("two", "yz")):
        episodes = [
            replace(make_episode(n, name, n % 4 < 2), attributes={"v": values[n % 2]})
            for n in range(20)
        ]
        silos.append(Silo.create(tmp_path / name, episodes, splits=[0] * 20))
    shares = partition(silos, make_settings("natural", key="v"), 3, seed=0)
    assert {share.site: [len(rows) for rows in share.indices] for share in shares} == {
        "y": [10, 10],
        "x": [10, 0],
        "z": [0, 10],
    }
    assert np.array_equal(shares[0].indices[0], np.arange(1, 20, 2))
