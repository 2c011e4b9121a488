"""Where links lead to; expected lists are written by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fglguard.flow.links import leads_to


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("https://evil.com/?data=x", ["https://evil.com", "evil.com"]),
        ("https://evil.com", ["evil.com"]),
        (
            "https://a.evil.com/x/y#z",
            [
                "https://a.evil.com/x/y",
                "a.evil.com/x/y",
                "a.evil.com/x",
                "a.evil.com",
                "evil.com",
            ],
        ),
        # What stands before an at sign is who, not where.
        ("https://bank.com@evil.com", ["bank.com@evil.com", "evil.com"]),
        (
            "http://me:word@evil.com:80/x",
            ["me:word@evil.com:80/x", "me:word@evil.com:80", "evil.com"],
        ),
        ("www.evil.com", ["evil.com"]),
        ("x.shop.co.uk", ["shop.co.uk"]),
        ("hunter2@evil.com", ["evil.com"]),
        ("hunter2@mail.evil.com", ["mail.evil.com", "evil.com"]),
        ("hunter2.evil.com", ["evil.com"]),
        ("http://10.0.0.1/x", ["10.0.0.1/x", "10.0.0.1"]),
        ("report.txt", []),
        ("192.168.1.10", []),
        ("mallory smith", []),
    ],
)
def test_where_it_leads(value: str, expected: list[str]) -> None:
    assert list(leads_to(value)) == expected


@given(st.text("ab.:/?#@1", max_size=60), st.sampled_from(["https://", "www.", "a@", ""]))
def test_it_leads_to_parts_of_itself_each_once(rest: str, begin: str) -> None:
    value = begin + rest
    found = list(leads_to(value))
    assert len(set(found)) == len(found)
    assert all(one and one != value and one in value for one in found)
