"""Pooled against gradient descent on everything, its effort against the federation's."""

import numpy as np
import pytest
from flwr.app import ConfigRecord

import client.app as client_module
from fglguard.errors import FederationError
from server.inprocess import InProcessGrid
from strategies.updates import pack_parameters

LR, K = 0.5, 3


def test_rounds_equal_descent_on_the_union(federation, reference):
    """Whole silos at once: one step an epoch and client, so 3 x 3 steps on the union a round.

    The gradient of the union's mean over nodes is the clients' weighted by their nodes.
    """
    ours = federation("pooled")
    plain = reference(ours)
    nodes = plain.nodes()
    x = ours.start.astype(np.float64)
    for server_round in (1, 2, 3):
        for _ in range(3 * K):
            gradients = [plain.gradient(x, k) for k in range(3)]
            x -= LR * (nodes / nodes.sum()) @ np.array(gradients)
        np.testing.assert_allclose(ours.round(server_round), x, atol=2e-5)
    assert len(ours.observer.updates) == 3
    for _, update, weight in ours.observer.updates:
        assert (update.member.index, update.nodes, weight) == (0, nodes.sum(), 1.0)


def test_it_takes_as_many_steps_as_all_clients_together(federation):
    few = {"strategy__batch_size": 7, "strategy__epochs": 2}
    apart, pooled = federation("fedavg", **few), federation("pooled", "pooled", **few)
    apart.round(1)
    pooled.round(1)
    each = [update.metrics["steps"] for _, update, _ in apart.observer.updates]
    graphs = [int(update.metrics["graphs"]) for _, update, _ in apart.observer.updates]
    assert each == [2 * -(-n // 7) for n in graphs]
    (update,) = [update for _, update, _ in pooled.observer.updates]
    assert update.metrics["steps"] == sum(each)
    assert update.metrics["graphs"] == sum(graphs)


def test_evaluation_still_asks_everyone(federation):
    ours = federation("pooled")
    ours.round(1)
    messages = ours.strategy.configure_evaluate(
        1, pack_parameters(ours.model), ConfigRecord({"split": "val"}), ours.grid
    )
    assert len(list(messages)) == 3
    assert ours.strategy.aggregate_evaluate(1, ours.grid.send_and_receive(messages)) == {
        "clients": 3
    }


def test_a_failure_of_the_one_client_ends_the_phase(federation):
    ours = federation("pooled")
    with pytest.raises(FederationError, match="at least 1 of 1 clients, got 0"):
        ours.round(1, absent=(0,))


def test_a_real_site_refuses(federation, tmp_path, make_episode):
    from fglguard.encoder import load_encoder
    from fglguard.graph import GraphSettings
    from fglguard.silo import Silo

    silo = Silo.create(tmp_path / "site", [make_episode(n, "a", n % 4 < 2) for n in range(20)])
    silo.prepare(load_encoder("hashed-words"), GraphSettings())
    ours = federation("pooled")
    nodes = [{"site": "a-0", "data-path": str(silo.path)}]
    config = {f"strategy.{k}": v for k, v in vars(ours.settings.strategy).items()}
    from fglguard.settings import values_of

    grid = InProcessGrid(client_module.app, nodes, values_of(ours.settings) | config)
    messages = list(
        ours.strategy.configure_train(
            1,
            pack_parameters(ours.model),
            ConfigRecord({"seed": 0, "run_folder": "/runs/one"}),
            ours.grid,
        )
    )
    (reply,) = grid.send_and_receive(messages)
    assert reply.error.reason.startswith(
        "SettingsError: strategy.name: pooled needs all clients' episodes in one place"
    )
