"""Policies and limits say what they expect."""

import pytest

from fglguard.errors import SettingsError
from fglguard.live.limits import Limits
from fglguard.live.policy import Policy


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"on_error": "ignore"}, "on_error: expected block or allow, got 'ignore'"),
        ({"mode": "off"}, "mode: expected enforce or shadow, got 'off'"),
        ({"calls": 1}, "calls: expected true or false, got 1"),
        ({"explain": "no"}, "explain: expected true or false"),
        ({"safe_message": " "}, "safe_message: expected some text"),
    ],
)
def test_a_policy_is_held_to_its_values(values, message) -> None:
    with pytest.raises(SettingsError, match=message):
        Policy(**values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"episodes": 0}, "limits.episodes: expected a whole number of at least 1, got 0"),
        ({"messages": 2.5}, "limits.messages: expected a whole number"),
        ({"bytes": True}, "limits.bytes: expected a whole number"),
        ({"idle_seconds": float("nan")}, "limits.idle_seconds: expected a number of at least 1"),
        ({"check_seconds": -1}, "limits.check_seconds: expected a number of at least 0"),
        ({"checks": "4"}, "limits.checks: expected a whole number"),
    ],
)
def test_limits_are_held_to_their_ranges(values, message) -> None:
    with pytest.raises(SettingsError, match=message):
        Limits(**values)
