import stat

import numpy as np
import pytest

from fglguard.errors import FederationError
from scripts.reproducing.scores import Scores, episode_rows, unscored


def test_rows_are_those_of_the_sides_and_groups_are_distinct(make_silo) -> None:
    silos = [make_silo(("a",), 20, "one"), make_silo(("b",), 20, "two")]
    rows = episode_rows(silos)
    assert all(set(s.split[r]) == {1, 2} for s, r in zip(silos, rows, strict=True))
    blank = unscored(silos, rows)
    ids = [silo.ids[i] for silo, own in zip(silos, rows, strict=True) for i in own]
    assert blank.id.tolist() == ids
    assert set(blank.side) == {"val", "test"}
    groups = [set(blank.group[blank.domain == d]) for d in "ab"]
    assert not groups[0] & groups[1]
    assert np.isnan(blank.raw).all()


def test_what_is_written_is_read_again_by_its_owner_alone(make_silo, tmp_path) -> None:
    silos = [make_silo()]
    blank = unscored(silos, episode_rows(silos))
    path = tmp_path / "scores.npz"
    blank.write(path)
    again = Scores.read(path)
    assert all(
        np.array_equal(getattr(again, name), column, equal_nan=column.dtype.kind == "f")
        for name, column in vars(blank).items()
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FederationError, match="got damage"):
        Scores.read(path)
