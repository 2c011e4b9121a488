import pytest
import torch

from fglguard.errors import PrivacyError
from privacy.attacks.mean_export import mean_export


def test_mean_of_exports():
    """(1 + 2 + 6) / 3 = 3."""
    exports = ({"w": torch.full((2, 2), value)} for value in (1.0, 2.0, 6.0))
    assert torch.equal(mean_export(exports)["w"], torch.full((2, 2), 3.0))


def test_exports_of_other_parameters_are_refused():
    with pytest.raises(PrivacyError, match="got b in some alone"):
        mean_export([{"a": torch.ones(1)}, {"a": torch.ones(1), "b": torch.ones(1)}])


def test_no_export_is_refused():
    with pytest.raises(PrivacyError, match="at least one, got none"):
        mean_export([])
