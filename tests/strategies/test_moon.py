"""MOON under the real grid against the paper's loss, graph by graph, in plain autograd."""

import numpy as np
import torch

LR, K, WEIGHT, T = 0.5, 2, 2.0, 0.5


def means(hidden, packed):
    counts = packed.nodes.tolist()
    return torch.stack([part.mean(dim=0) for part in hidden.split(counts)])


def test_rounds_equal_the_papers_loss(federation, reference):
    ours = federation(
        "moon", strategy__epochs=K, strategy__contrast=WEIGHT, strategy__temperature=T
    )
    plain = reference(ours)
    cosine = torch.nn.CosineSimilarity(dim=1)
    x, previous = ours.start.astype(np.float64), [None] * 3
    for server_round in (1, 2, 3):
        models = []
        for k in range(3):
            packed = plain.packed[k]
            towards = means(plain.hidden(x, k), packed)
            # The paper's first round takes the global model for the previous one.
            before = x if previous[k] is None else previous[k]
            away = means(plain.hidden(before, k), packed)

            def term(hidden, packed=packed, towards=towards, away=away):
                z = means(hidden, packed)
                near, far = (torch.exp(cosine(z, other) / T) for other in (towards, away))
                return WEIGHT * -torch.log(near / (near + far)).mean()

            theta = x.copy()
            for _ in range(K):
                theta -= LR * plain.gradient(theta, k, term if previous[k] is not None else None)
            if previous[k] is None:
                # The term's gradient vanishes at the start of the first round: leaving it out
                # there is the same step, which the second step then departs from only by it.
                assert np.abs(plain.gradient(x, k, term) - plain.gradient(x, k)).max() < 1e-5
            models.append(theta)
            previous[k] = theta
        x = np.mean(models, axis=0)
        np.testing.assert_allclose(ours.round(server_round), x, atol=1e-5)
    terms = {r: [u.metrics["term"] for n, u, _ in ours.observer.updates if n == r] for r in (1, 3)}
    assert terms[1] == [0, 0, 0]
    assert min(terms[3]) > 0.1


def test_a_client_that_lost_its_state_trains_as_in_its_first_round(federation):
    ours = federation("moon", strategy__contrast=WEIGHT)
    ours.round(1)
    for file in (ours.folder / "clients" / "b-0").iterdir():
        file.unlink()
    ours.round(2)
    terms = [update.metrics["term"] for number, update, _ in ours.observer.updates if number == 2]
    assert [term == 0 for term in terms] == [False, True, False]
