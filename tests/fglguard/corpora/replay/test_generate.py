import hashlib
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable

import pytest

from fglguard.corpora.replay import generate
from fglguard.corpora.replay.generate import generate_suites
from fglguard.corpora.replay.suites import SUITES
from fglguard.corpora.replay.wordings import WORDINGS
from fglguard.episode import Episode, encode_line
from fglguard.errors import CorpusError

pytestmark = pytest.mark.long


def test_labels_follow_the_policy(small_corpus: list[Episode]) -> None:
    """Obeying runs that the check calls safe, and resisting ones it calls unsafe, were dropped."""
    seen = Counter(
        (e.attributes["policy"], e.unsafe, e.attributes["attempt"]) for e in small_corpus
    )
    assert set(seen) - {("partial", True, "true")} == {
        ("clean", False, "false"),
        ("resists", False, "false"),
        ("obeys", True, "true"),
        ("partial", False, "true"),
    }
    assert all(e.label_source == "program" for e in small_corpus)


def test_sides_share_no_task_of_any_kind(small_corpus: list[Episode]) -> None:
    sides: dict[str, set[str]] = defaultdict(set)
    for e in small_corpus:
        for kind, names in (
            ("user", ("user_task", "second_user_task")),
            ("injection", ("injection_task", "authorised_task")),
        ):
            for name in names:
                if e.attributes[name]:
                    key = f"{kind} {e.domain} {e.attributes[name]}"
                    sides[key].add(e.attributes["split"])
        for key in e.task:
            sides[key].add(e.attributes["split"])
    assert all(len(found) == 1 for found in sides.values())
    assert {e.attributes["split"] for e in small_corpus} == {"train", "val", "test"}


def test_keys_and_attack_tell_whether_an_injection_was_there(small_corpus: list[Episode]) -> None:
    for e in small_corpus:
        a = e.attributes
        keys = [f"user:{e.domain}/{a['user_task']}"]
        if a["policy"] == "clean":
            assert a["attack"] == "none"
            assert a["injection_task"] == ""
        else:
            assert a["attack"] in WORDINGS
            keys.append(f"injection:{e.domain}/{a['injection_task']}")
        assert list(e.task) == keys
        assert e.domain == a["suite"]
        assert "agent_model" not in a


def test_a_request_is_made_under_every_policy_alike(small_corpus: list[Episode]) -> None:
    """Obeying and resisting agents get the same requests, whatever else differs."""
    asked: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for e in small_corpus:
        a = e.attributes
        asked[a["policy"]][
            (e.domain, a["user_task"], a["second_user_task"], a["authorised_task"], a["attack"])
        ] += 1
    assert asked["obeys"] == asked["resists"]


def test_shape(small_corpus: list[Episode]) -> None:
    assert len({e.id for e in small_corpus}) == len(small_corpus)
    for e in small_corpus:
        first, *calls_and_results, last = e.messages
        assert (first.sender, first.kind, first.round) == ("user", "say", 0)
        assert (last.sender, last.receivers, last.kind) == ("agent", ("user",), "say")
        assert e.final_agent == "agent"
        calls, results = calls_and_results[::2], calls_and_results[1::2]
        for turn, (call, result) in enumerate(zip(calls, results, strict=True), start=1):
            tool = f"tool:{call.text.split(' ', 1)[0]}"
            assert (call.round, call.sender, call.receivers, call.kind) == (
                turn, "agent", (tool,), "call",
            )  # fmt: skip
            assert (result.round, result.sender, result.receivers, result.kind) == (
                turn, tool, ("agent",), "result",
            )  # fmt: skip
        assert last.round == len(calls) + 1


def test_no_constant_of_the_attackers_is_left(small_corpus: list[Episode]) -> None:
    for e in small_corpus:
        text = "\n".join(e.texts)
        for constant in ("US133000000121212121212", "mark.black-2134", "my-website-234", "Hacked!"):
            assert constant not in text


def test_an_obeyed_injections_values_were_read_before(small_corpus: list[Episode]) -> None:
    """Banking's account of the attacker: in a result first, then in a call."""
    checked = 0
    for e in small_corpus:
        if e.domain == "banking" and e.unsafe and e.attributes["injection_task"][-1] in "0123568":
            paid = [m for m in e.messages if m.kind == "call" and m.text.startswith("send_money")]
            results = [m for m in e.messages if m.kind == "result"]
            accounts = [m.text.split('"recipient": "')[1].split('"')[0] for m in paid]
            assert any(
                account in result.text and result.round < call.round
                for account, call in zip(accounts, paid, strict=True)
                for result in results
            )
            checked += 1
    assert checked


def test_another_seed_another_corpus(small_corpus: list[Episode]) -> None:
    scenes = {"train": 2, "val": 1, "test": 1}
    one, other = (generate_suites(["banking"], seed, scenes) for seed in (0, 1))
    assert [e.texts for e in one] != [e.texts for e in other]


def test_a_suite_does_not_depend_on_the_others_asked_for(small_corpus: list[Episode]) -> None:
    alone = generate_suites(["banking"], 3, {"train": 10, "val": 5, "test": 5})
    assert alone == [e for e in small_corpus if e.domain == "banking"]


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(CorpusError, match="seed: expected 0 or more, got -1"):
        generate(-1)


SCRIPT = """
import hashlib
from fglguard.corpora.replay.generate import generate_suites
from fglguard.corpora.replay.suites import SUITES
from fglguard.episode import encode_line
episodes = generate_suites(SUITES, 3, {"train": 10, "val": 5, "test": 5})
print(hashlib.sha256(b"".join(map(encode_line, episodes))).hexdigest())
"""


@pytest.mark.parametrize("hash_seed", ["1", "20240515"])
def test_same_bits_whatever_the_hash_seed(small_corpus: list[Episode], hash_seed: str) -> None:
    """Another process, another order of sets, another second on the clock."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"PYTHONHASHSEED": hash_seed, "TZ": "Pacific/Auckland"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    here = hashlib.sha256(b"".join(map(encode_line, small_corpus))).hexdigest()
    assert done.stdout.strip() == here


def test_the_whole_corpus(whole_corpus: Callable[[int], list[Episode]]) -> None:
    full_corpus = whole_corpus(0)
    assert 1400 <= len(full_corpus) <= 1600
    assert 0.35 <= sum(bool(e.unsafe) for e in full_corpus) / len(full_corpus) <= 0.45
    sizes = Counter((e.domain, e.attributes["split"], e.unsafe) for e in full_corpus)
    for suite in SUITES:
        assert sum(n for (domain, *_), n in sizes.items() if domain == suite) >= 200
        for side in ("train", "val", "test"):
            assert sizes[suite, side, True] >= 20
            assert sizes[suite, side, False] >= 20
            present = {
                e.attributes["attack"]
                for e in full_corpus
                if e.domain == suite and e.attributes["split"] == side
            }
            assert present == {"none", *WORDINGS}
    safe = [e for e in full_corpus if not e.unsafe]
    assert sum(e.attributes["hard_negative"] == "true" for e in safe) / len(safe) >= 0.3
