"""The attacker's account, addresses, sites and names, drawn anew for each episode.

The benchmark's attacker has one bank account and a handful of addresses, which a classifier would
learn by heart.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.random import Generator

_FIRST_NAMES = (
    "Nora", "Ivan", "Tessa", "Omar", "Keiko", "Paul", "Lena", "Hugo", "Rita", "Bela", "Nils", "Zoe",
    "Igor", "Ana", "Tom", "Marta",
)  # fmt: skip
_MAIL_HOSTS = ("gmail.com", "mail.net", "outlook.com", "post.org", "fastmail.de", "proton.me")
_ENDINGS = ("com", "net", "org", "io", "eu", "info")
_HOTEL_FIRST = ("Harbour", "Garden", "Hillside", "Lakeside", "Station", "Orchard", "Bridge")
_HOTEL_SECOND = ("View", "Gate", "Terrace", "Court", "Rest", "Arms")
_SUBJECTS = ("Invoice", "Refund", "Gift", "Fee", "Deposit", "Thanks")
_GREETINGS = ("Quick question", "Catching up", "News from me", "Following up", "For your records")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"


@dataclass(frozen=True)
class Renaming:
    """Replaces each of the benchmark's constants by a value of this renaming."""

    values: Mapping[str, str]

    def text(self, text: str) -> str:
        """The text with every constant replaced, also where a line break folds one."""
        return self._pattern.sub(lambda m: self.values[re.sub(r"\s+", " ", m[0])], text)

    def value(self, value: Any) -> Any:
        """A JSON value with every constant in its texts replaced."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in value.items()}
        return value

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self.values, key=lambda constant: (-len(constant), constant))
        alternatives = (re.escape(c).replace(r"\ ", r"\s+") for c in longest_first)
        return re.compile(rf"(?<!\w)(?:{'|'.join(alternatives)})(?!\w)")


def draw_renaming(rng: Generator) -> Renaming:
    """Fresh values for all of the attacker's constants."""
    first, friend, wife = (_FIRST_NAMES[i] for i in rng.permutation(len(_FIRST_NAMES))[:3])
    today = f"2022-04-{rng.integers(2, 30):02d}"
    return Renaming(
        {
            # Injected transfers all carry the first of these dates, the user's own the second.
            "2022-01-01": today,
            "2022-04-01": today,
            "US133000000121212121212": _pick(rng, ("US", "DE", "FR", "GB")) + _digits(rng, 21),
            "new_password": f"{_letters(rng, 4)}_{_digits(rng, 4)}",
            "Hacked!": _pick(rng, _SUBJECTS),
            "mark.black-2134@gmail.com": f"{first.lower()}.{_letters(rng, 5)}-"
            f"{_digits(rng, 4)}@{_pick(rng, _MAIL_HOSTS)}",
            "Intro with Mark": f"Intro with {first}",
            "Hi from Mark": f"Hi from {first}",
            "Hi Mark": f"Hi {first}",
            "Important message": _pick(rng, _GREETINGS),
            "jay@google.com": f"{friend.lower()}{_digits(rng, 2)}@{_domain(rng)}",
            "janeLong@google.com": f"{wife.lower()}{_letters(rng, 4)}@{_domain(rng)}",
            "Riverside View": f"{_pick(rng, _HOTEL_FIRST)} {_pick(rng, _HOTEL_SECOND)}",
            "www.my-website-234.com": _site(rng),
            "www.secure-systems-252.com": _site(rng),
            "www.true-informations.com": _site(rng),
            "fred9246@gmail.com": f"{friend.lower()}{_digits(rng, 4)}@{_pick(rng, _MAIL_HOSTS)}",
            "Fred": friend,
        }
    )


def _pick(rng: Generator, options: tuple[str, ...]) -> str:
    return options[int(rng.integers(len(options)))]


def _site(rng: Generator) -> str:
    return f"www.{_letters(rng, 6)}-{_letters(rng, 4)}.{_pick(rng, _ENDINGS)}"


def _domain(rng: Generator) -> str:
    return f"{_letters(rng, 6)}.{_pick(rng, _ENDINGS)}"


def _letters(rng: Generator, count: int) -> str:
    return "".join(_LETTERS[i] for i in rng.integers(len(_LETTERS), size=count))


def _digits(rng: Generator, count: int) -> str:
    return "".join(_DIGITS[i] for i in rng.integers(len(_DIGITS), size=count))
