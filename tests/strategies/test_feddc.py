"""FedDC under the real grid against the paper's formulas in plain loops."""

import numpy as np
import pytest

from client.state import ClientState

LR, K, ALPHA = 0.5, 3, 0.2


@pytest.mark.parametrize("balanced", [False, True])
def test_rounds_equal_the_papers_formulas(federation, reference, balanced):
    """Four rounds over three unlike clients; client 2 misses the third."""
    ours = federation(
        "feddc",
        strategy__balanced=balanced,
        strategy__drift=ALPHA,
        federation__minimum_clients=2,
    )
    plain = reference(ours)
    nodes = plain.nodes()
    w = ours.start.astype(np.float64)
    c, own, h = np.zeros_like(w), np.zeros((3, len(w))), np.zeros((3, len(w)))
    for server_round in (1, 2, 3, 4):
        absent = (2,) if server_round == 3 else ()
        present = [k for k in range(3) if k not in absent]
        corrected, changes = [], []
        for k in present:
            theta, gradients = w.copy(), []
            for _ in range(K):
                gradients.append(plain.gradient(theta, k))
                penalty = ALPHA * (theta + h[k] - w)
                theta = theta - LR * (gradients[-1] + penalty - own[k] + c)
            h[k] += theta - w
            corrected.append(theta + h[k])
            changes.append(np.mean(gradients, axis=0) - own[k])
            own[k] = np.mean(gradients, axis=0)
        alpha = np.ones(len(present)) if balanced else nodes[present]
        w = (alpha / alpha.sum()) @ np.array(corrected)
        c = c + np.sum(changes, axis=0) / 3
        np.testing.assert_allclose(ours.round(server_round, absent), w, atol=1e-5)
    for k, site in enumerate(("a-0", "b-0", "c-0")):
        kept = ClientState(ours.folder / "clients" / site).load(4)
        np.testing.assert_allclose(kept["drift"], h[k], atol=1e-5)
        np.testing.assert_allclose(kept["control"], own[k], atol=1e-5)
