import json

import numpy as np
import pytest

from fglguard.errors import SiloError
from fglguard.silo.records import Records


@pytest.fixture
def data(tmp_path, make_episode, make_silo):
    """The folder of a silo's state, and its episodes' ids."""
    silo = make_silo(("a",), 6)
    (file,) = silo.path.rglob("episodes*.jsonl")
    return file.parent, [make_episode(n, "a", n % 4 < 2).id for n in range(6)]


def test_episodes_come_in_the_order_asked_for(data) -> None:
    folder, ids = data
    records = Records(folder, 6)
    assert list(records.ids()) == ids
    assert [e.id for e in records.episodes(np.array([5, 0, 5]))] == [ids[5], ids[0], ids[5]]


def test_a_damaged_line_is_named(data) -> None:
    folder, _ = data
    (file,) = folder.glob("episodes*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    broken = json.dumps({"id": 3}).encode()
    lines[2] = broken.ljust(len(lines[2]) - 1) + b"\n"
    lines[4] = b"{" * (len(lines[4]) - 1) + b"\n"
    file.write_bytes(b"".join(lines))
    with pytest.raises(SiloError, match=r"\.jsonl:3: damaged, expected an episode with its id"):
        list(Records(folder, 6).ids())
    with pytest.raises(SiloError, match=r"\.jsonl:5: damaged, expected JSON"):
        list(Records(folder, 6).episodes(np.array([4])))


def test_a_file_that_is_gone_asks_to_open_again(data) -> None:
    folder, _ = data
    next(folder.glob("episodes*.jsonl")).unlink()
    with pytest.raises(SiloError, match="Open it again"):
        list(Records(folder, 6).ids())
