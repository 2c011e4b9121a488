import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from fglguard.errors import UpdateError
from server.scores import read_scores
from strategies.cohort import Member

MEMBER = Member(0, "a-0", "a")


@pytest.fixture(autouse=True)
def outside_a_run():
    """Flower wants to know who makes a message."""
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1


def reply(domains=("x", "y"), **columns):
    table = {
        "raw": np.array([0.25, 0.75]),
        "corroborated": np.array([0.25, 1.0]),
        "label": np.array([0, 1]),
        "group": np.array([3, 4]),
        "clean": np.array([1, 0]),
        "domain": np.array([1, 0]),
        **columns,
    }
    scores = ArrayRecord({name: Array(column) for name, column in table.items()})
    site = ConfigRecord({} if domains is None else {"domains": list(domains)})
    return Message(RecordDict({"scores": scores, "site": site}), 1, "evaluate")


def test_a_real_sites_rows_have_the_rosters_domain():
    assert list(read_scores(reply(), MEMBER, trust_domains=False).domain) == ["a", "a"]
    assert list(read_scores(reply(), MEMBER, trust_domains=True).domain) == ["y", "x"]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"domain": np.array([0, 2])}, r"scores\.domain: expected whole numbers from 0 to 1"),
        ({"domain": np.array([0, -1])}, r"scores\.domain"),
        ({"domain": np.array([0.0, 1.0])}, r"scores\.domain"),
        ({"domains": None}, r"site\.domains"),
        ({"raw": np.array([0.5, np.nan])}, r"scores\.raw: expected scores within"),
        ({"raw": np.array(0.5)}, r"scores\.raw: expected 1 rows, got shape \(\)"),
        ({"label": np.array([0, -1])}, r"scores\.label"),
        ({"clean": np.array([0])}, r"scores\.clean: expected 2 rows"),
    ],
)
def test_what_no_honest_site_sends_is_refused(columns, told):
    with pytest.raises(UpdateError, match=told):
        read_scores(reply(**columns), MEMBER, trust_domains=True)
