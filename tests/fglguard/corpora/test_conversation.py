import pytest

from fglguard.corpora.conversation import Conversation
from fglguard.errors import CorpusError


def test_a_round_begins_with_an_agents_first_message_after_it_heard_something():
    """Rounds derived by hand from the rule; users, tools and empty texts begin none."""
    talk = Conversation()
    a, b = talk.member("a"), talk.member("b")
    rounds = []
    for sender, receivers, text in (
        ("user", [a], "go"),
        (a, [], "thinking"),
        (a, [b], ""),
        (a, [b], "help"),
        ("user", [a], "hurry"),
        (b, [a, a, b], "done"),
        (b, ["user"], "done too"),
        (a, ["user"], "here"),
    ):
        talk.say(sender, receivers, text)
        rounds.append(talk.round)
    assert rounds == [0, 1, 1, 1, 1, 2, 2, 3]


@pytest.mark.parametrize("name", ["", "  ", "user", "environment", "tool:x", "x" * 200])
def test_names_that_are_no_agents_are_refused(name):
    with pytest.raises(CorpusError, match="agents: expected"):
        Conversation().member(name)
