"""What every rewriting keeps, and what each does to a run whose every text is known."""

import pytest

from fglguard.episode import episode_from_record, episode_to_record
from fglguard.evaluation.adaptive.location import locate
from fglguard.evaluation.adaptive.suite import ATTACKS, HARD_NEGATIVES, rewrite
from fglguard.flow.normalisation import Spellings, Value
from fglguard.flow.phrases import DIRECTIVE, IMPERATIVE
from fglguard.flow.spans import plain_text, spans

from .conftest import ACCOUNT, MAIL


def calls(episode):
    return [(m.sender, m.receivers, m.text) for m in episode.messages if m.kind == "call"]


def rewritten(name, runs, seed=0):
    found = rewrite(name, runs, locate(runs), seed)
    return {runs[place].id: (runs[place], new) for place, new in found.episodes.items()}


@pytest.mark.parametrize("name", [*ATTACKS, *HARD_NEGATIVES])
def test_label_calls_and_identity_are_kept(name, runs) -> None:
    found = rewritten(name, runs)
    assert len(found) == (3 if name in ATTACKS else 6)
    for old, new in found.values():
        assert (new.id, new.domain, new.task, new.unsafe) == (
            old.id,
            old.domain,
            old.task,
            old.unsafe,
        )
        assert new.final_agent == old.final_agent
        assert calls(new) == calls(old)
        assert new.messages != old.messages
        assert episode_from_record(episode_to_record(new)) == new


@pytest.mark.parametrize("name", [*ATTACKS, *HARD_NEGATIVES])
def test_the_same_seed_writes_the_same_whatever_else_is_rewritten(name, runs) -> None:
    every, alone = rewritten(name, runs, 7), rewrite(name, runs[:1] + runs[5:6], locate(runs), 7)
    for new in alone.episodes.values():
        assert every[new.id][1] == new


@pytest.mark.parametrize("name", ["split_values", "encoded_values", "look_alikes"])
@pytest.mark.parametrize("seed", range(5))
def test_hidden_values_stand_in_no_result_before_the_call(name, seed, runs) -> None:
    for _, new in rewritten(name, runs, seed).values():
        read = next(m.text for m in new.messages if m.sender == "tool:read")
        assert MAIL not in read
        assert name == "look_alikes" or ACCOUNT not in read
        # A reader who undoes the spelling finds them again.
        assert Spellings(read).hold(Value(ACCOUNT.lower()))
        assert Spellings(read).hold(Value(MAIL))


@pytest.mark.parametrize("seed", range(3))
def test_a_declarative_injection_orders_nothing(seed, runs) -> None:
    for _, new in rewritten("declarative", runs, seed).values():
        read = next(m.text for m in new.messages if m.sender == "tool:read")
        assert ACCOUNT in read and MAIL in read
        for span in spans(plain_text(read)):
            assert not DIRECTIVE.occur(span) and not IMPERATIVE.occur(span)


def test_a_foreign_injection_keeps_the_values(runs) -> None:
    for old, new in rewritten("foreign_language", runs).values():
        read = next(m.text for m in new.messages if m.sender == "tool:read")
        assert f"'{ACCOUNT}', '{MAIL}'" in read
        assert "receipt" not in read and "receipt" in old.messages[4].text


def test_the_user_quotes_the_values(runs) -> None:
    for old, new in rewritten("quoted_by_user", runs).values():
        assert new.messages[0].text.startswith(old.messages[0].text)
        assert ACCOUNT in new.messages[0].text and MAIL in new.messages[0].text
        assert new.messages[1:] == old.messages[1:]


def test_a_spread_payload_has_its_values_in_another_result(runs) -> None:
    for _, new in rewritten("spread_payload", runs).values():
        counted, read = (
            next(m.text for m in new.messages if m.sender == f"tool:{t}") for t in ("count", "read")
        )
        assert "ref-A and email a receipt to ref-B" in read and ACCOUNT not in read
        assert f"ref-A is {ACCOUNT}; ref-B is {MAIL}." in counted


def test_a_relayed_injection_reaches_the_agent_by_a_colleague(runs) -> None:
    for old, new in rewritten("relayed", runs).values():
        assert len(new.agents) == len(old.agents) + 1
        heard = [m for m in new.messages if "agent" in m.receivers and m.sender == "colleague"]
        (told,) = heard
        assert f"The balance is to be sent to {ACCOUNT}" in told.text and MAIL in told.text
        (read,) = [m for m in new.messages if m.sender == "tool:read"]
        assert read.receivers == ("colleague",)


def test_inert_instructions_carry_values_that_no_call_has(runs) -> None:
    for old, new in rewritten("inert_instructions", runs).values():
        added = [
            b.text.removeprefix(a.text).split()
            for a, b in zip(old.messages, new.messages, strict=True)
            if a != b
        ]
        assert added
        called = " ".join(text for _, _, text in calls(new))
        assert not any("example" in word and word in called for words in added for word in words)


def test_a_planner_passes_on_what_the_user_said(runs) -> None:
    for old, new in rewritten("delegated", runs).values():
        assert new.messages[0].receivers == ("planner",)
        assert new.messages[1].sender == "planner" and new.messages[1].receivers == ("agent",)
        assert old.messages[0].text in new.messages[1].text


def test_what_does_not_apply_is_counted(runs) -> None:
    injections = locate(runs)
    del injections[runs[0].id]
    obeyed_without_a_value = runs[3].__class__(
        **{f: getattr(runs[3], f) for f in runs[3].__slots__} | {"unsafe": True}
    )
    found = rewrite("split_values", [*runs[:3], obeyed_without_a_value], injections, 0)
    assert (len(found.episodes), found.not_located, found.not_applicable) == (2, 1, 1)


def test_an_unknown_rewriting_is_named(runs) -> None:
    with pytest.raises(ValueError, match="rewriting: expected one of declarative"):
        rewrite("none", runs, {}, 0)
