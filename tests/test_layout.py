"""Imports go one way, and the library stays free of the federation's packages."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = {
    "fglguard": {"fglguard"},
    "privacy": {"fglguard", "privacy"},
    "strategies": {"fglguard", "privacy", "strategies"},
    "client": {"fglguard", "privacy", "strategies", "client"},
    "server": {"fglguard", "privacy", "strategies", "server"},
}
FOREIGN_TO_LIBRARY = {"flwr", "ray", "hydra", "omegaconf"}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_go_one_way(layer):
    ours = {*LAYERS, "scripts"}
    files = list((ROOT / layer).rglob("*.py"))
    assert files
    for path in files:
        wrong = (set(imported(path)) & ours) - LAYERS[layer]
        assert not wrong, f"{path} imports {wrong}"


def test_the_library_imports_no_federation_package():
    for path in (ROOT / "fglguard").rglob("*.py"):
        assert not set(imported(path)) & FOREIGN_TO_LIBRARY, path
