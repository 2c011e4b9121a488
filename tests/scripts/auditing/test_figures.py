"""The summary and the gate on findings made by hand; the expected numbers follow by eye."""

import pytest

from privacy.audit.findings import BEST, Audit, Figure, Finding
from scripts.auditing.files import summary
from scripts.auditing.gate import Gate, blunt, broken


def finding(
    privacy, family, score, null=0.0, exports=1, size=1, model="gpt2", error=0.02, batches=8
):
    figures = {"rouge1": Figure(score, null, 1.0, error)}
    return Finding(f"{model}, {size}", family, BEST, privacy, exports, figures, size, batches)


@pytest.fixture
def audit():
    findings = [
        finding("none", "paper", 0.99),
        finding("none", "channels", 0.95),
        finding("none", "paper", 0.97, model="bert"),
        finding("none", "paper", 0.60, size=4),  # a larger batch does not count
        finding("aegis", "paper", 0.002),
        finding("aegis", "channels", 0.90, null=0.10),
        finding("aegis_extended", "channels", 0.12, null=0.10),
        finding("aegis_extended", "adaptive", 0.30, null=0.26, error=0.03),
        finding("aegis_extended", "adaptive", 0.90, null=0.26, exports=16),
        finding("attention open", "paper", 1.0),  # an ablation
    ]
    return Audit("gpt2,bert", {}, findings, {}, {})


def test_summary(audit):
    assert summary(audit) == pytest.approx(
        {
            "undefended.rouge1.min": 0.97,
            "aegis.rouge1.max": 0.90,
            "aegis.paper_attack.rouge1.max": 0.002,
            "aegis.over_null.max": 0.80,
            "aegis.over_null.error": 0.02,
            "aegis_extended.rouge1.max": 0.30,
            "aegis_extended.over_null.max": 0.04,
            "aegis_extended.over_null.error": 0.03,
        }
    )


def test_a_gate_does_not_look_at_ablations(audit):
    assert broken(audit, [Gate("rouge1", 0.8)]) == []
    (told,) = broken(audit, [Gate("rouge1", 0.05)])
    assert told.startswith("gpt2, 1 under aegis, T = 1: the best attack on channels")
    assert "0.800 above, with a standard error of 0.020 over 8 batches" in told
    assert blunt(audit, [Gate("rouge1", 0.05)]) == []


def audit_of(*findings):
    return Audit("gpt2", {}, findings, {}, {})


@pytest.mark.parametrize(
    ("error", "trips"), [(0.0, True), (0.04, True), (0.06, False), (None, True)]
)
def test_a_gate_allows_two_standard_errors(error, trips):
    """.15 above noise with a limit of .05: .10 are left, two standard errors of .05."""
    audit = audit_of(finding("aegis", "paper", 0.25, null=0.10, error=error))
    assert bool(broken(audit, [Gate("rouge1", 0.05)])) is trips


def test_the_family_furthest_above_its_margin_is_told():
    """.30 with an error of .20 is chance, .15 with .01 is not."""
    audit = audit_of(
        finding("aegis", "paper", 0.30, error=0.20), finding("aegis", "channels", 0.15, error=0.01)
    )
    (told,) = broken(audit, [Gate("rouge1", 0.05)])
    assert "the best attack on channels" in told


def test_a_gate_on_few_batches_says_so():
    audit = audit_of(
        finding("aegis", "paper", 0.0), finding("aegis", "matching", 0.0, batches=1, error=None)
    )
    (told,) = blunt(audit, [Gate("rouge1", 0.05)])
    assert told.startswith("gate rouge1 is blunt: ")
    assert told.endswith("allows none for one alone, in gpt2, 1: matching (1)")
