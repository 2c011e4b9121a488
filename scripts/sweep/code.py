"""The code that a run's outcome follows from, as one hash.

Every module of the project that the entry points import, directly or not, counts; comments,
docstrings and layout do not, nor does what only draws reports. So whoever keeps outcomes by it
never takes those of other code for this code's.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("fglguard", "privacy", "strategies", "server", "client")
RUN = (
    "server.app",
    "client.app",
    "server.inprocess",
    "server.local_grid",
    "server.process_grid",
)
"""Where a run begins, whatever its backend."""
DRAWING = ("fglguard.attribution", "fglguard.evaluation.report", "server.report")
LIBRARIES = ("numpy", "scikit-learn", "torch")
"""Their versions count too: another one may round otherwise."""


@lru_cache(maxsize=4)
def code_digest(entries: tuple[str, ...] = RUN) -> str:
    """Hex SHA-256 of the code behind some modules."""
    lines = [f"{name} {version(name)}" for name in LIBRARIES]
    for name, path in sorted(modules_behind(entries).items()):
        lines.append(f"{name} {_meaning(path)}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def modules_behind(entries: tuple[str, ...] = RUN) -> dict[str, Path]:
    """The files of some modules and of all that they import, by name; `DRAWING` is left out."""
    found: dict[str, Path] = {}
    waiting = list(entries)
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if path is None or name in found or _under(name, DRAWING):
            continue
        found[name] = path
        parent = name.rpartition(".")[0]
        waiting += [parent] if parent else []
        waiting += _imported(ast.parse(path.read_bytes()))
    return found


def _under(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in packages)


def _file(name: str) -> Path | None:
    """A project's module's file; None for others, and for what is no module but in one."""
    top, *rest = name.split(".")
    if top not in PACKAGES:
        return None
    path = _folder(top).joinpath(*rest)
    files = (path / "__init__.py", path.with_name(f"{path.name}.py"))
    return next((file for file in files if file.is_file()), None)


@lru_cache(maxsize=len(PACKAGES))
def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"expected the package {package}, found none")
    return Path(spec.submodule_search_locations[0])


def _imported(node: ast.AST) -> Iterator[str]:
    """Names that a module imports anywhere, each of which may be a module."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    for child in ast.iter_child_nodes(node):
        yield from _imported(child)


def _meaning(path: Path) -> str:
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        # A string that is a statement of its own does nothing: docstrings are.
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, [one for one in block if not _is_text(one)])
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
