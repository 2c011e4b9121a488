"""The part that each parameter of a model plays, which decides what its gradient can leak."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from torch import Tensor, nn

from fglguard.detector import Detector
from fglguard.errors import PrivacyError
from fglguard.transformer_roles import Family, Role, role_in
from privacy.families import FAMILIES

__all__ = ["Part", "Role", "parts_of", "register_family"]


@dataclass(frozen=True)
class Part:
    """One parameter and what it is.

    Attributes:
        name: In `named_parameters()`; a tied weight counts once, under its first name.
        role: A `Role`, or a `fglguard.detector.Role`.
        parameter: The tensor itself.
        inputs_first: Whether it is stored as [inputs, outputs], as GPT-2's projections are; linear
            layers store [outputs, inputs].
    """

    name: str
    role: StrEnum
    parameter: Tensor
    inputs_first: bool = False


_families: dict[str, Family] = dict(FAMILIES)


def register_family(model_type: str, family: Family) -> None:
    """Say which parameters of a family of transformers play which part.

    Args:
        model_type: What `model.config.model_type` says.
        family: Suffixes of parameter names by role, such as `{Role.EXPANSION: ["fc1.weight"]}`.
            The longest suffix that fits decides.

    Raises:
        PrivacyError: A suffix is given to two roles.
    """
    seen: dict[str, Role] = {}
    for role, suffixes in family.items():
        for suffix in suffixes:
            if seen.setdefault(suffix, role) is not role:
                raise PrivacyError(
                    f"family {model_type}: {suffix} is given to two roles, {seen[suffix]} and "
                    f"{role}"
                )
    _families[model_type] = family


def parts_of(model: nn.Module) -> tuple[Part, ...]:
    """Every parameter of a model with its role, in the order of `named_parameters()`.

    Raises:
        PrivacyError: The model has no parameters, its family is not registered, or a parameter has
            no role: the text names it. Nothing is left unmasked in silence.
    """
    named = list(model.named_parameters())
    if not named:
        raise PrivacyError(f"{type(model).__name__} has no parameters to mask")
    if isinstance(model, Detector):
        roles = model.roles()
        missing = [name for name, _ in named if name not in roles]
        _require_roles(type(model).__name__, missing)
        return tuple(Part(name, roles[name], parameter) for name, parameter in named)
    family = _family_of(model)
    found = {name: role_in(family, name) for name, _ in named}
    missing = [name for name, role in found.items() if role is None]
    _require_roles(type(model).__name__, missing)
    return tuple(
        Part(name, role, parameter, _inputs_first(model, name))
        for name, parameter in named
        if (role := found[name]) is not None
    )


def _family_of(model: nn.Module) -> Family:
    model_type = getattr(getattr(model, "config", None), "model_type", None)
    if model_type not in _families:
        raise PrivacyError(
            f"{type(model).__name__}: no role map for model_type {model_type!r}; known: "
            f"{', '.join(sorted(_families))}. Register one with privacy.roles.register_family"
        )
    return _families[model_type]


def _require_roles(model: str, missing: Sequence[str]) -> None:
    if missing:
        raise PrivacyError(
            f"{model}: no role for {', '.join(missing[:5])}"
            f"{f' and {len(missing) - 5} more' if len(missing) > 5 else ''}: a parameter without a "
            f"role would be exported unmasked. Add it to the family's role map "
            f"(privacy.roles.register_family)"
        )


def _inputs_first(model: nn.Module, name: str) -> bool:
    owner = model.get_submodule(name.rpartition(".")[0])
    return type(owner).__name__ == "Conv1D"
