"""The audit of texts: what is open is read, what is masked is not, and noise never is."""

import dataclasses

import pytest

from fglguard.errors import PrivacyError
from privacy.audit.findings import BEST
from privacy.audit.text_groups import GROUPS
from privacy.audit.texts import ABLATIONS, TextAudit, audit_texts
from privacy.audit.victims import Size
from privacy.signals import Strength

SMALL = TextAudit(
    family="gpt2",
    strengths={"none": Strength(), "aegis": Strength()},
    exports=(1, 4),
    batches=(1,),
    groups=(GROUPS["paper"],),
    trials=1,
    bank=8,
    length=6,
    size=Size(width=32, layers=1, vocabulary=300, positions=16),
    warm_steps=0,
)


def best(findings, figure):
    """By case's end, mask and T."""
    return {
        (finding.case, finding.privacy, finding.exports): finding.figures[figure]
        for finding in findings
        if finding.attack == BEST
    }


@pytest.mark.long
def test_the_papers_attack_and_two_masks_of_three():
    """A decoder's text is read exactly through any one of the three channels."""
    found = best(audit_texts(SMALL), "rouge1")
    case, ablated = "gpt2, 1 text", "gpt2, 1 text, two masks of three"
    assert found[case, "none", 1].score == 1.0
    assert found[case, "aegis", 1].score == 0.0
    assert found[case, "aegis", 1].undefended == 1.0
    assert found[case, "aegis", 1].null == 0.0
    assert found[case, "none", 4] == found[case, "none", 1]  # without noise, T says nothing
    assert {key[1] for key in found if key[0] == ablated} == set(ABLATIONS)
    assert all(found[ablated, name, 1].score >= 0.9 for name in ABLATIONS)


@pytest.mark.long
def test_candidates_are_told_by_open_biases():
    """AEGIS leaves biases open, and the text's own gradient is theirs exactly."""
    audit = dataclasses.replace(SMALL, groups=(GROUPS["candidates"],), trials=3)
    findings = audit_texts(audit)
    found = best(findings, "auc")["gpt2, 1 text", "aegis", 1]
    assert found.score == 1.0
    assert found.null < 1.0
    assert {finding.batches for finding in findings} == {3}


def test_what_cannot_be_audited():
    with pytest.raises(PrivacyError, match="no attack asked for takes batches of 4"):
        audit_texts(dataclasses.replace(SMALL, groups=(GROUPS["matching"],), batches=(4,)))
    with pytest.raises(PrivacyError, match="expected more than a batch's 9 texts, got 8"):
        audit_texts(dataclasses.replace(SMALL, batches=(9,)))
    with pytest.raises(PrivacyError, match="of 1 tokens, unlike each other"):
        audit_texts(dataclasses.replace(SMALL, length=1))
