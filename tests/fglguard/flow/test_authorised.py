"""What users wrote, value by value; who is right in each case is told by reading it as a person."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fglguard.flow.authorised import Authorised

ACCOUNT = "DE89 3704 0044 0532 0130 00"


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("mail kim@example.com now", "kim@example.com"),
        ("mail Kim@Example.com.", "kim@example.com"),
        ("to:kim@example.com", "kim@example.com"),
        ("kim (at) example (dot) com", "kim@example.com"),
        (f"read {base64.b64encode(b'kim@example.com').decode()}", "kim@example.com"),
        ("k\u200bim@example.com", "kim@example.com"),
        ("\uff4b\uff49\uff4d@example.com", "kim@example.com"),  # full width: the same by IDNA
        ("\u043c\u0438\u0440@example.com", "\u043c\u0438\u0440@example.com"),  # Russian, both
        ("see https://bank.example.com/pay", "bank.example.com"),
        ("see https://bank.example.com/pay", "https://bank.example.com/pay"),
        ("see https://bank.example.com/", "https://bank.example.com"),
        ("read /home/kim/report.txt", "/home/kim/report.txt"),
        ("read /home/kim/report.txt", "report.txt"),
        ("post to #general", "general"),
        ("post to #general", "#general"),
        ('invite Anna to "Dinner with Anna"', "dinner with anna"),
        (f"pay {ACCOUNT} now", "de89370400440532013000"),
        ("pay DE89370400440532013000", ACCOUNT.lower()),
        (f"pay {ACCOUNT}", ACCOUNT.lower()),
        (f"pay {ACCOUNT}", ACCOUNT.lower().replace(" ", "-")),
        ("call +49 170 1234567", "+49 170 1234567"),
        ("pay 100.00", "100"),
        ("pay $100", "100.00"),
        ("pay 1,000.50", "1000.5"),
        ("pay 1.000,50", "1000.50"),
        ("pay two thousand five hundred", "2500"),
        ("from 10:00-11:00", "10:00"),
        ("from 10:00-11:00", "11:00"),
        ("on 2024-05-26 10:00", "2024-05-26"),
        ("2024-05-26 2024-05-27", "2024-05-27"),
        ("on 2024-05-26T10:00", "2024-05-26"),
        ("host 192.168.1.10/24", "192.168.1.10"),
        ("host 192.168.1.10:80", "192.168.1.10:80"),
        ("ids 1001,1002,1003", "1002"),
        ("mail _kim@example.com_", "kim@example.com"),
        ("mail kim at example dot com", "kim@example.com"),
        ("mail kim&#64;example.com", "kim@example.com"),
        ("title Dinner\nwith  Anna", "dinner with anna"),
        (f"pay {ACCOUNT} 100 EUR", "de89370400440532013000"),
        (f"for 2024 {ACCOUNT} 2024-05-01", "de89370400440532013000"),
        ("call +1 555 123 4567", "+15551234567"),
        # Chinese, Japanese, Thai and Korean, without blanks around the value.
        ("\u8bf7\u4ed8100\u5143\u7ed9kim@example.com\u3002", "kim@example.com"),
        ("\u8bf7\u4ed8100\u5143\u7ed9kim@example.com\u3002", "100"),
        ("\u8bf7\u4ed8\u7ed9\u738b\u5c0f\u660e\u5148\u751f", "\u738b\u5c0f\u660e\u5148\u751f"),
        ("\u660e\u65e5report.txt\u3092\u9001\u3063\u3066", "report.txt"),
        ("\u0e2a\u0e48\u0e07kim@example.com\u0e14\u0e49\u0e27\u0e22", "kim@example.com"),
        ("kim@example.com\uc73c\ub85c", "kim@example.com"),
        ("pay \u0661\u0662\u0660", "120"),  # Arabic digits
    ],
)
def test_what_the_user_wrote_is_authorised(said: str, value: str) -> None:
    assert value in Authorised(said)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("mail kim@example.com", "kim@example.co"),
        ("mail kim@example.co.uk", "kim@example.co"),
        ("mail kim@example.com", "k@imexample.com"),
        ("mail kim@example.com", "im@example.com"),
        ("mail jo.kim@example.com", "kim@example.com"),
        ("mail kim@example.com", "example.com"),
        ("mail kim@example.com", "k\u0456m@example.com"),  # Cyrillic i
        ("mail kim@example.com", "kim@ex\u0430mple.com"),  # Cyrillic a
        ("see bank.example.com", "example.com"),
        ("see bank.example.com", "bank.example.co"),
        ("see bank.example.com", "bankexample.com"),
        ("see https://bank.example.com", "https://bank.example.co"),
        ("see https://bank.example.com/pay", "https://bank.example.com"),
        ("read /home/kim/report.txt", "/home/kim"),
        ("read report.txt.bak", "report.txt"),
        (f"pay {ACCOUNT} now", "3704"),
        (f"pay {ACCOUNT} now", "37040044"),
        (f"pay {ACCOUNT} now", "de89 3704"),
        ("pay DE89370400440532013000", "de8937040044"),
        ("on 2024-1-12 10", "2024-11-2 10"),
        ("pay 10.00", "1000"),
        ("pay 1,000", "100"),
        ("pay 2,100.50", "100.50"),
        ("account 00012345", "12345"),
        ("log in at 192.168.1.10", "19.216.81.10"),
        ("on 2024-05-26", "2024"),
        (f"pay {ACCOUNT} 100 EUR", "0130 00 100"),
        ("pay 1001,50", "1001,5"),
        ("post to kim_smith", "kim"),
        ("remove /home/kim/*.tmp", "/home/kim"),
        ("read /home/kim/.ssh/id_rsa", "/home/kim"),
        ("read ~/tmp/x", "/tmp/x"),
        ("read ../../etc/passwd", "/etc/passwd"),
        ("see https://bank.example.com/pay#a", "https://bank.example.com/pay"),
        ("", "kim@example.com"),
    ],
)
def test_what_nearly_is_what_the_user_wrote_is_not(said: str, value: str) -> None:
    assert value not in Authorised(said)


@given(
    st.text("ab1", min_size=1, max_size=6).map(lambda name: f"{name}@mail.example"),
    st.text("ab1", min_size=1, max_size=3).flatmap(lambda one: st.sampled_from([one, f"{one}."])),
)
def test_an_address_is_authorised_by_itself_and_by_no_longer_one(address: str, more: str) -> None:
    assert address in Authorised(f"write to {address}, please")
    assert address not in Authorised(f"write to {address}{more}x, please")
    assert address not in Authorised(f"write to x{more}{address}, please")
