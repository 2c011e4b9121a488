"""SCAFFOLD under the real grid against the paper's algorithm 1 (option II) in plain loops."""

import numpy as np
import pytest

from client.state import ClientState

LR, K = 0.5, 3


@pytest.mark.parametrize("balanced", [False, True])
def test_rounds_equal_the_papers_algorithm(federation, reference, balanced):
    """Four rounds over three unlike clients; client 1 misses the second.

    x is added up by the aggregation weights, c by 1 / N over all N = 3 clients, and a client that
    misses a round keeps its c_k.
    """
    ours = federation("scaffold", strategy__balanced=balanced, federation__minimum_clients=2)
    plain = reference(ours)
    nodes = plain.nodes()
    assert len(set(nodes)) == 3
    x = ours.start.astype(np.float64)
    c, own = np.zeros_like(x), np.zeros((3, len(x)))
    for server_round in (1, 2, 3, 4):
        absent = (1,) if server_round == 2 else ()
        present = [k for k in range(3) if k not in absent]
        models, changes = [], []
        for k in present:
            y = x.copy()
            for _ in range(K):
                y -= LR * (plain.gradient(y, k) - own[k] + c)
            new = own[k] - c + (x - y) / (K * LR)
            models.append(y)
            changes.append(new - own[k])
            own[k] = new
        alpha = np.ones(len(present)) if balanced else nodes[present]
        x = (alpha / alpha.sum()) @ np.array(models)
        c = c + np.sum(changes, axis=0) / 3
        np.testing.assert_allclose(ours.round(server_round, absent), x, atol=5e-6)
        np.testing.assert_allclose(ours.strategy.broadcast()["control"], c, atol=5e-6)
    # c is the mean of the clients' own: none was lost.
    np.testing.assert_allclose(c, own.mean(axis=0), atol=1e-9)
    for k, site in enumerate(("a-0", "b-0", "c-0")):
        kept = ClientState(ours.folder / "clients" / site).load(4)["control"]
        np.testing.assert_allclose(kept, own[k], atol=5e-6)
    assert np.abs(own[0] - own[1]).max() > 1e-3


def test_c_survives_a_restart_of_the_server(federation):
    """A second strategy that takes back the first one's state goes on with the same bits."""
    whole = federation("scaffold", "whole")
    for number in (1, 2, 3):
        whole.round(number)
    first = federation("scaffold", "broken")
    first.round(1)
    first.round(2)
    assert federation("scaffold", "none").strategy.state() == {}
    second = federation("scaffold", "broken")
    second.strategy.restore(first.strategy.state())
    second.strategy.used = dict(first.strategy.used)
    second.model = first.model
    assert second.round(3).tobytes() == whole.model.tobytes()


def test_a_clients_state_of_another_size_fails_by_name(federation):
    ours = federation("scaffold", federation__minimum_clients=2)
    ours.round(1)
    state = ClientState(ours.folder / "clients" / "b-0")
    state.save(1, {"control": np.zeros(5, dtype=np.float32)}, since=0)
    ours.round(2)
    (failure,) = ours.observer.failures
    assert failure.member.site == "b-0"
    assert "StateError: client state: control: expected " in failure.reason
    assert "got 5" in failure.reason


def test_a_client_that_lost_its_control_variate_is_left_out_by_name(federation):
    """Starting anew, c would no longer be the mean of the c_k."""
    ours = federation("scaffold", federation__minimum_clients=2)
    ours.round(1)
    for file in (ours.folder / "clients" / "b-0").iterdir():
        file.unlink()
    ours.round(2)
    (failure,) = ours.observer.failures
    assert failure.member.site == "b-0"
    assert "what was kept in round 1 is not in" in failure.reason
