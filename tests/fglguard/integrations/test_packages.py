"""A framework that is missing is told by its name and by what to install."""

import sys
from importlib import import_module

import pytest

from fglguard.errors import FglguardError, IntegrationError

MISSING = {
    "langchain": ("langchain.agents.middleware", "fglguard[agents]"),
    "langgraph": ("langgraph.prebuilt", "fglguard[agents]"),
    "openai_agents": ("agents", "openai-agents>=0.24"),
    "autogen": ("autogen_core", "autogen-core>=0.7"),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_framework_is_named(name, monkeypatch) -> None:
    package, install = MISSING[name]
    module = f"fglguard.integrations.{name}"
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(IntegrationError) as raised:
        import_module(module)
    assert f"pip install '{install}'" in str(raised.value)
    assert isinstance(raised.value, FglguardError)
