import pytest

from fglguard.errors import SettingsError
from scripts.reproducing.options import read_options

TABLES = ("main", "arms")


def test_defaults_and_given_values() -> None:
    options = read_options(["table=arms", "corpus.root=/data", "seeds=2", "workers=3"], TABLES)
    assert (options.table, str(options.root), options.workers) == ("arms", "/data", 3)
    assert options.seeds == (0, 1)
    assert read_options([], TABLES).seeds == (0, 1, 2, 3, 4)
    assert read_options([], TABLES).workers >= 1
    assert read_options(["page="], TABLES).page is None
    assert read_options([], TABLES).attacks == ()
    assert read_options(["attacks=padded,relayed"], TABLES).attacks == ("padded", "relayed")


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("tabel=main", "did you mean table"),
        ("main", "expected key=value"),
        ("table=best", "table: expected one of main, arms, all, got 'best'"),
        ("seeds=0", "seeds: expected a whole number of at least 1, got '0'"),
        ("attacks=padded,paded", "attacks: expected some of declarative.* got 'paded'"),
        ("seeds=many", "seeds: expected a whole number"),
    ],
)
def test_what_is_wrong_is_named(argument, told) -> None:
    with pytest.raises(SettingsError, match=told):
        read_options([argument], TABLES)
