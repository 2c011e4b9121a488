"""A silo that changes while a run goes on: the site says so and takes no further part."""

import shutil

import pytest
from flwr.app import Context, RecordDict

from client.same_silo import remember_silo, require_same_silo
from fglguard.encoder import load_encoder
from fglguard.errors import SiloError
from fglguard.graph import GraphSettings
from fglguard.silo import Silo


@pytest.fixture
def silo(make_silo):
    return make_silo(domains=("a",)).path


@pytest.fixture
def context(silo):
    return Context(7, 2, {"site": "north", "data-path": str(silo)}, RecordDict(), {})


def change(silo, make_episode):
    Silo.create(silo, [make_episode(n, "a", unsafe=n % 2 == 0) for n in range(40)], overwrite=True)


def test_other_episodes_are_refused_and_the_text_names_the_site(context, silo, make_episode):
    remember_silo(context)
    require_same_silo(context)
    change(silo, make_episode)
    with pytest.raises(SiloError, match=f"site north: its silo {silo} holds other episodes"):
        require_same_silo(context)


def test_the_next_run_takes_what_is_there_then(context, silo, make_episode):
    remember_silo(context)
    change(silo, make_episode)
    remember_silo(context)
    require_same_silo(context)


def test_what_another_run_remembers_counts_for_nothing(context, silo, make_episode):
    """A SuperNode's state may live for longer than a run."""
    remember_silo(context)
    change(silo, make_episode)
    require_same_silo(Context(8, 2, context.node_config, context.state, {}))


def test_other_splits_are_another_silo(context, silo):
    remember_silo(context)
    own = Silo.open(silo)
    episodes = list(own.episodes())
    Silo.create(silo, episodes, splits=1 - own.split.clip(0, 1), overwrite=True)
    with pytest.raises(SiloError, match="holds other episodes"):
        require_same_silo(context)


def test_the_same_episodes_prepared_otherwise_are_the_same(context, silo):
    remember_silo(context)
    Silo.open(silo).prepare(load_encoder("hashed-words"), GraphSettings(rounds=2))
    require_same_silo(context)


def test_a_silo_that_is_gone_is_told(context, silo):
    remember_silo(context)
    shutil.rmtree(silo)
    with pytest.raises(SiloError, match="expected a silo"):
        require_same_silo(context)


def test_a_simulation_has_nothing_to_remember(silo):
    simulated = Context(7, 2, {"partition-id": 0, "num-partitions": 1}, RecordDict(), {})
    remember_silo(simulated)
    require_same_silo(simulated)
    assert not simulated.state
