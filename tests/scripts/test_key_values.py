import pytest

from fglguard.errors import SettingsError
from scripts.key_values import named, read_key_values

DEFAULTS = {"table": "main", "seeds": "5"}


def test_arguments_replace_defaults_and_may_hold_equals_signs() -> None:
    assert read_key_values([], DEFAULTS) == DEFAULTS
    assert read_key_values(["table=a=b"], DEFAULTS) == {"table": "a=b", "seeds": "5"}


@pytest.mark.parametrize("argument", ["seed=3", "seeds", "=3"])
def test_what_is_no_known_key_and_value_is_told_with_those_known(argument) -> None:
    with pytest.raises(SettingsError, match="expected key=value with a key of table, seeds"):
        read_key_values([argument], DEFAULTS)


def test_what_is_near_is_suggested() -> None:
    with pytest.raises(SettingsError, match=r"got 'seed=3'; did you mean seeds\?"):
        read_key_values(["seed=3"], DEFAULTS)
    with pytest.raises(SettingsError, match=r"privacy: expected one of none, aegis, got 'egis'; d"):
        named("privacy", "egis", ("none", "aegis"))
    assert named("privacy", "aegis", ("none", "aegis")) == "aegis"
