"""The published figures that a table's cells stand beside (FGLGuard, arXiv 2609.02967)."""

from collections.abc import Mapping

IN_DOMAIN: Mapping[str, Mapping[str, float]] = {
    "federated": {"agent_safetybench": 0.726, "rjudge": 0.895, "agentdojo": 0.680},
    "pooled": {"agent_safetybench": 0.695, "rjudge": 0.810, "agentdojo": 0.676},
    "local": {"agent_safetybench": 0.666, "rjudge": 0.762, "agentdojo": 0.584},
}
"""AUROC in one domain, K = 4."""
CROSS_DOMAIN = (0.998, 0.673, 0.797, 0.589)
"""AUROC of the federated detector in each of the paper's four domains, 8 clients."""
OFF_DOMAIN = (0.537, 0.573)
"""Smallest and largest AUROC of a specialist outside its own domain."""
