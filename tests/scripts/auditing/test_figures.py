"""The summary and the gate on findings made by hand; the expected numbers follow by eye."""

import pytest

from privacy.audit.findings import BEST, Audit, Figure, Finding
from scripts.auditing.files import summary
from scripts.auditing.gate import Gate, broken


def finding(privacy, family, score, null=0.0, exports=1, size=1, model="gpt2"):
    figures = {"rouge1": Figure(score, null, 1.0)}
    return Finding(f"{model}, {size}", family, BEST, privacy, exports, figures, size, 2)


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
        finding("aegis_extended", "adaptive", 0.30, null=0.26),
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
            "aegis_extended.rouge1.max": 0.30,
            "aegis_extended.over_null.max": 0.04,
        }
    )


def test_a_gate_does_not_look_at_ablations(audit):
    assert broken(audit, [Gate("rouge1", 0.8)]) == []
    (told,) = broken(audit, [Gate("rouge1", 0.05)])
    assert told.startswith("gpt2, 1 under aegis, T = 1: the best attack on channels")
