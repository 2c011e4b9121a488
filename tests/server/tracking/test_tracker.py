"""A tracker writes whole rounds, of the attempt that counted alone."""

from server.tracking.tracker import Tracker
from strategies.cohort import Member
from strategies.updates import Failure


class Kept(Tracker):
    def __init__(self):
        super().__init__(rounds=2)
        self.written = []

    def write(self, step, figures):
        self.written.append((step, dict(figures)))

    def close(self, error):
        pass


def test_an_attempt_that_was_given_up_leaves_no_figure():
    tracker = Kept()
    tracker.failed("train", 1, Failure(Member(0, "a", "x"), "it dropped out"))
    tracker.retried()
    tracker.round_done(1, 2, {"loss": 0.5})
    assert tracker.written == [(1, {"round/loss": 0.5, "round/failures": 0.0})]


def test_a_failure_in_the_attempt_that_counted_is_written():
    tracker = Kept()
    tracker.failed("train", 1, Failure(Member(0, "a", "x"), "it dropped out"))
    tracker.round_done(1, 2, {"loss": 0.5})
    assert tracker.written[0][1]["clients/a/failed"] == 1.0
    assert tracker.written[0][1]["round/failures"] == 1.0
