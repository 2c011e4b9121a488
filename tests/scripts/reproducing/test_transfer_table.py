from types import SimpleNamespace

import numpy as np

from scripts.reproducing.transfer_table import _agent_models


def test_agent_models_are_numbered_by_name_within_their_domain() -> None:
    """Of agentdojo two; agent_safetybench has one alone, and none would be left to train on."""
    facts = SimpleNamespace(
        domain=np.array(["agentdojo"] * 3 + ["agent_safetybench"]),
        attribute=lambda key: np.array(["b", "a", "b", "c"]),
    )
    assert _agent_models(SimpleNamespace(facts=facts)) == {
        "agentdojo model 1": "a",
        "agentdojo model 2": "b",
    }
