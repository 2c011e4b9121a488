import pytest

from fglguard.corpora.annotations import Annotations, annotations_of
from fglguard.errors import CorpusError


def test_what_is_said_in_several_places_is_put_together():
    told = annotations_of(
        [
            {"fglguard.unsafe": True, "other": 1},
            {"fglguard.label_source": "human", "fglguard.unsafe": True},
            {"fglguard.task": "user:1", "fglguard.agents": ["a", "b"]},
        ]
    )
    expected = Annotations(unsafe=True, label_source="human", task=("user:1",), agents=("a", "b"))
    assert told == expected
    assert annotations_of([]) == Annotations()


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([{"fglguard.domain": "a"}, {"fglguard.domain": "b"}], "expected one value in an episode"),
        ([{"fglguard.unsafe": "no"}], "fglguard.unsafe: expected true or false, got 'no'"),
        ([{"fglguard.label_source": "me"}], "expected one of human, program, judge, planted"),
        ([{"fglguard.task": [1]}], "fglguard.task: expected a text, got int"),
        ([{"fglguard.agent": []}], "fglguard.agent: expected a text, got list"),
    ],
)
def test_contradictions_and_other_kinds_are_named(records, said):
    with pytest.raises(CorpusError, match="fglguard") as caught:
        annotations_of(records)
    assert said in str(caught.value)
