"""Environments that hold injected text, built from one serialised template.

The benchmark formats injected text into YAML, which a double quote breaks and which folds newlines.
Here a canary is put in each place once; afterwards the JSON-escaped text takes the canary's place
in the serialised environment, so any text arrives exactly as it is.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class EnvironmentTemplate:
    """A suite's environment with a canary in each place for injected text.

    Attributes:
        environment_type: The benchmark's class of the environment.
        serialised: The environment as JSON, canaries included.
        defaults: What stands in each place when nothing is injected.
    """

    environment_type: Any
    serialised: str
    defaults: Mapping[str, str]

    def build(self, injections: Mapping[str, str]) -> Any:
        """A fresh environment with each text *after* the default of its place.

        The default stays because it can hold what a user task needs, such as a bill's account.
        """
        return self._fill(
            {
                vector: _join(default, injections.get(vector, ""))
                for vector, default in self.defaults.items()
            }
        )

    def build_with_canaries(self) -> Any:
        """A fresh environment in which each place holds its canary alone."""
        return self._fill({vector: _canary(vector) for vector in self.defaults})

    def vectors_in(self, results: Iterable[str]) -> tuple[str, ...]:
        """The places whose canary these tool results show, in order of appearance."""
        seen: dict[str, None] = {}
        for result in results:
            found = [(result.find(_canary(v)), v) for v in self.defaults if _canary(v) in result]
            seen.update(dict.fromkeys(vector for _, vector in sorted(found)))
        return tuple(seen)

    def _fill(self, texts: Mapping[str, str]) -> Any:
        serialised = self.serialised
        for vector, text in texts.items():
            serialised = serialised.replace(_canary(vector), json.dumps(text)[1:-1])
        return self.environment_type.model_validate_json(serialised)


def environment_template(benchmark: Any) -> EnvironmentTemplate:
    """Serialise a suite's environment with a canary in every place for injected text.

    The defaults are read off the benchmark's own environment, for as they are written down they
    hold escapes that YAML resolves.
    """
    vectors = benchmark.get_injection_vector_defaults()
    marked = benchmark.load_and_inject_default_environment({v: _canary(v) for v in vectors})
    plain = benchmark.load_and_inject_default_environment({})
    defaults = dict.fromkeys(vectors, "")
    for template, text in _aligned(marked.model_dump(mode="json"), plain.model_dump(mode="json")):
        defaults |= _read_off(template, text, vectors)
    return EnvironmentTemplate(benchmark.environment_type, marked.model_dump_json(), defaults)


def _aligned(marked: Any, plain: Any) -> Iterator[tuple[str, str]]:
    """The texts at the same places of two environments, keys included."""
    if isinstance(marked, dict):
        for (key, value), (other_key, other_value) in zip(
            marked.items(), plain.items(), strict=True
        ):
            yield key, other_key
            yield from _aligned(value, other_value)
    elif isinstance(marked, list):
        for value, other_value in zip(marked, plain, strict=True):
            yield from _aligned(value, other_value)
    elif isinstance(marked, str):
        yield marked, plain


def _read_off(template: str, text: str, vectors: Iterable[str]) -> dict[str, str]:
    """What stands in the text where the template has canaries."""
    if template == text:
        return {}
    pattern = re.escape(template)
    for vector in vectors:
        pattern = pattern.replace(re.escape(_canary(vector)), f"(?P<{vector}>.*)", 1)
    found = re.fullmatch(pattern, text, re.DOTALL)
    return found.groupdict() if found else {}


def _canary(vector: str) -> str:
    return f"QZX{vector}XZQ"


def _join(default: str, text: str) -> str:
    if not default or not text:
        return default or text
    return f"{default}{chr(10) if len(default) > 40 else ' '}{text}"
