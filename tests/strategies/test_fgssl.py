"""FGSSL under the real grid against its loss, node by node, in plain autograd."""

import numpy as np
import torch

LR, K, WEIGHT, T = 0.5, 2, 3.0, 0.4


def neighbourhoods(packed):
    """For each node of all graphs: the nodes it hears and itself, by their place in the batch."""
    heard = []
    for graph in range(len(packed)):
        first, last = packed.node_offsets[graph], packed.node_offsets[graph + 1]
        edges = slice(packed.edge_offsets[graph], packed.edge_offsets[graph + 1])
        src, dst = packed.src[edges], packed.dst[edges]
        heard += [[*(src[dst == j] + first).tolist(), int(j + first)] for j in range(last - first)]
    return heard


def similarities(hidden, heard):
    return [
        torch.nn.functional.cosine_similarity(hidden[others], hidden[[j]]) / T
        for j, others in enumerate(heard)
    ]


def test_rounds_equal_the_loss_by_node(federation, reference):
    ours = federation(
        "fgssl", strategy__epochs=K, strategy__distillation=WEIGHT, strategy__temperature=T
    )
    plain = reference(ours)
    x = ours.start.astype(np.float64)
    for server_round in (1, 2, 3):
        models = []
        for k in range(3):
            heard = neighbourhoods(plain.packed[k])
            teacher = [s.softmax(0) for s in similarities(plain.hidden(x, k), heard)]

            def term(hidden, heard=heard, teacher=teacher):
                student = [s.log_softmax(0) for s in similarities(hidden, heard)]
                divergence = [
                    torch.nn.functional.kl_div(log_q, p, reduction="sum")
                    for p, log_q in zip(teacher, student, strict=True)
                ]
                return WEIGHT * torch.stack(divergence).mean()

            theta = x.copy()
            for _ in range(K):
                theta -= LR * plain.gradient(theta, k, term)
            models.append(theta)
        x = np.mean(models, axis=0)
        np.testing.assert_allclose(ours.round(server_round), x, atol=1e-5)
    assert max(update.metrics["term"] for _, update, _ in ours.observer.updates) > 1e-5
    assert not (ours.folder / "clients").exists()
