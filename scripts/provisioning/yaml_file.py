"""A YAML file as plain values, refusing a key that stands twice."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from fglguard.errors import SettingsError


class _Loader(yaml.SafeLoader):
    """YAML's own safe loader keeps the last of two equal keys in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands twice", key_node.start_mark
                )
            seen.add(key if isinstance(key, Hashable) else id(key))
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> object:
    """Read a YAML file.

    Raises:
        SettingsError: It can't be read or is not YAML; the text names file and line.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: can't be read: {error}") from error
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise SettingsError(f"{path}{line}: expected YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: expected YAML: {error}") from error
