"""What the server, and the log beside it, are told of a client's exception."""

import pytest

from client.failure import describe
from client.naming import naming_site
from fglguard.errors import PrivacyError


@pytest.mark.parametrize("whole", [True, False])
def test_an_error_of_ours_is_told_in_one_line_without_a_traceback(whole):
    with pytest.raises(PrivacyError) as caught, naming_site("a-0"):
        raise PrivacyError("expected 16 graphs, got 3")
    told = describe(caught.value, whole=whole)
    # The server names the site itself: "site a-0: PrivacyError: ..." holds the name once.
    assert told == "PrivacyError: expected 16 graphs, got 3"


def test_any_other_is_traced_whole_in_a_simulation_and_by_places_alone_at_a_site():
    with pytest.raises(ValueError, match="said") as caught:
        raise ValueError("what an agent said")
    whole = describe(caught.value, whole=True)
    assert whole.startswith("ValueError: what an agent said\nTraceback (most recent call last):")
    told = describe(caught.value, whole=False)
    assert "test_failure.py:" in told and "said" not in told and "\n" not in told


def test_only_a_name_at_the_very_start_is_taken_off():
    """The server puts the site's name before; "this site takes part only with ..." is no name."""
    told = "this site takes part only with privacy=aegis, and the run hides less: a; b"
    assert describe(PrivacyError(told), whole=False) == f"PrivacyError: {told}"
    assert describe(PrivacyError(f"site north: {told}"), whole=False) == f"PrivacyError: {told}"
