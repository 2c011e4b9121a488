import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.weighting import domain_balanced_weights, size_weights, weighted_sum

sites = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 10_000)), min_size=1, max_size=12)


def test_two_domains_by_hand():
    """Domain a has 10 and 30 nodes, b has 5; D = 2: 1/2 x 10/40, 1/2 x 30/40 and 1/2 x 5/5."""
    weights = domain_balanced_weights(["a", "a", "b"], [10, 30, 5])
    assert weights == pytest.approx([0.125, 0.375, 0.5])


@given(sites)
def test_weights_add_up_to_one_and_to_one_share_a_domain(held):
    domains, nodes = zip(*held, strict=True)
    weights = domain_balanced_weights(domains, nodes)
    assert weights.sum() == pytest.approx(1)
    for domain in set(domains):
        total = weights[np.array(domains) == domain].sum()
        assert total == pytest.approx(1 / len(set(domains)))


@given(sites)
def test_order_does_not_change_a_clients_weight(held):
    domains, nodes = zip(*held, strict=True)
    there = domain_balanced_weights(domains, nodes)
    back = domain_balanced_weights(domains[::-1], nodes[::-1])[::-1]
    assert there == pytest.approx(back)


@given(sites, st.integers(2, 50))
def test_growing_a_whole_domain_changes_nothing(held, factor):
    domains, nodes = zip(*held, strict=True)
    grown = [n * factor if d == domains[0] else n for d, n in held]
    assert domain_balanced_weights(domains, grown) == pytest.approx(
        domain_balanced_weights(domains, nodes)
    )


@given(sites, st.data())
def test_splitting_a_silo_buys_no_influence(held, data):
    """One site replaced by two that share its nodes: together they weigh what it weighed."""
    domains, nodes = (list(part) for part in zip(*held, strict=True))
    nodes[0] += 1
    part = data.draw(st.integers(1, nodes[0] - 1))
    whole = domain_balanced_weights(domains, nodes)
    split = domain_balanced_weights([domains[0], *domains], [part, nodes[0] - part, *nodes[1:]])
    assert split[:2].sum() == pytest.approx(whole[0])
    assert split[2:] == pytest.approx(whole[1:])


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=12))
def test_one_domain_is_fedavg(nodes):
    assert domain_balanced_weights(["a"] * len(nodes), nodes) == pytest.approx(size_weights(nodes))


@given(st.integers(1, 8), st.integers(0, 2**16))
def test_weighted_sum_is_the_matrix_product(clients, seed):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((clients, 5)).astype(np.float32)
    weights = rng.random(clients)
    found = weighted_sum(list(vectors), weights)
    assert found.dtype == np.float32
    assert found == pytest.approx(weights @ vectors.astype(np.float64), rel=1e-6, abs=1e-6)
