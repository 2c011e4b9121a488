"""A calibration as a guard's record holds it: strict JSON, checked by value."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, get_args

from fglguard.calibration.calibration import By, Calibration, Objective, Rule
from fglguard.errors import CalibrationError, shown

_INFINITE = {"nothing": math.inf, "everything": -math.inf}
_NUMBERS: Mapping[str, tuple[type, float]] = {
    "budget": (float, 1),
    "recall": (float, 1),
    "false_positive_rate": (float, 1),
    "benign": (int, math.inf),
    "unsafe": (int, math.inf),
    "risk": (float, 1),
    "benign_groups": (int, math.inf),
    "bins": (int, math.inf),
}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "objective": get_args(Objective),
    "rule": get_args(Rule),
    "by": get_args(By),
}
_MAY_BE_NULL = frozenset({"recall", "risk", "benign_groups", "bins"})


def to_record(calibration: Calibration) -> dict[str, Any]:
    """The record; a threshold of +inf is null beside `"blocks": "nothing"`.

    Raises:
        CalibrationError: The threshold is NaN.
    """
    record = asdict(calibration)
    if math.isnan(calibration.threshold):
        raise CalibrationError("calibration.threshold: expected a number or infinity, got NaN")
    if math.isinf(calibration.threshold):
        record["threshold"] = None
        record["blocks"] = next(k for k, v in _INFINITE.items() if v == calibration.threshold)
    else:
        record["blocks"] = "at or above the threshold"
    return record


def from_record(record: Any, where: str = "calibration") -> Calibration:
    """Read a record and check its values.

    Records written before there were several rules have the objective under `rule`.

    Raises:
        CalibrationError: A value is not one that `to_record` writes; the text names its key.
        KeyError: A key is missing.
        TypeError: There is a key too many.
    """
    if not isinstance(record, dict):
        raise CalibrationError(f"{where}: expected an object, got {shown(record)}")
    values = dict(record)
    if "objective" not in values:
        values["objective"] = values.pop("rule")
    threshold = _threshold(values.pop("threshold"), values.pop("blocks"), where)
    for name, (kind, high) in _NUMBERS.items():
        _check_number(values, name, kind, high, where)
    for name, choices in _CHOICES.items():
        if name in values and values[name] not in choices:
            raise CalibrationError(
                f"{where}.{name}: expected one of {', '.join(choices)}, got {shown(values[name])}"
            )
    if not isinstance(values.get("reason"), str | None):
        raise CalibrationError(
            f"{where}.reason: expected a text or null, got {shown(values['reason'])}"
        )
    return Calibration(threshold=threshold, **values)


def _threshold(value: Any, blocks: Any, where: str) -> float:
    if isinstance(value, float):
        return value
    if value is not None:
        raise CalibrationError(f"{where}.threshold: expected a number, got {shown(value)}")
    if not isinstance(blocks, str) or blocks not in _INFINITE:
        raise CalibrationError(
            f"{where}.blocks: expected one of {', '.join(_INFINITE)} where the threshold is null, "
            f"got {shown(blocks)}"
        )
    return _INFINITE[blocks]


def _check_number(
    values: Mapping[str, Any], name: str, kind: type, high: float, where: str
) -> None:
    optional = name in ("risk", "benign_groups", "bins")
    value = values.get(name) if optional else values[name]
    if value is None and name in _MAY_BE_NULL:
        return
    inside = isinstance(value, int | float) and 0 <= value <= high
    if type(value) is not kind or not inside:
        raise CalibrationError(f"{where}.{name}: expected 0 to {high:g}, got {shown(value)}")
