import torch

from privacy.attacks.robust_pca import low_rank_part, robust_pca


def test_separates_planted_parts():
    """Rank 3 plus 5 % large entries in 80 x 60: within the range in which recovery is exact."""
    draw = torch.Generator().manual_seed(0)
    low = torch.randn(80, 3, generator=draw) @ torch.randn(3, 60, generator=draw)
    where = torch.rand(80, 60, generator=draw) < 0.05
    sparse = 10 * torch.randn(80, 60, generator=draw) * where
    found, rest = robust_pca(low + sparse)
    assert (found - low).norm() < 1e-3 * low.norm()
    assert (rest - sparse).norm() < 1e-3 * sparse.norm()
    assert torch.linalg.matrix_rank(found, rtol=1e-4) == 3


def test_nothing_comes_of_nothing():
    assert not low_rank_part(torch.zeros(4, 3)).any()
