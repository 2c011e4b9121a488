import pytest

from fglguard.errors import suggestion

SETTINGS = ("seed", "federation.rounds", "federation.clients", "detector.rounds", "strategy.mu")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sead", "; did you mean seed?"),
        ("federation.round", "; did you mean federation.rounds?"),
        ("clients", "; did you mean federation.clients?"),
        ("rounds", "; did you mean federation.rounds or detector.rounds?"),
        ("zzz", ""),
        ("", ""),
    ],
)
def test_what_is_near_is_suggested(name, told):
    assert suggestion(name, SETTINGS) == told
