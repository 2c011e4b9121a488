from datetime import datetime
from types import SimpleNamespace

from fglguard.corpora.replay.execution import ToolSession
from fglguard.corpora.replay.suites import ReplaySuite


def session(suite: ReplaySuite) -> ToolSession:
    return ToolSession(suite.benchmark.tools, suite.template.build({}))


def call(function: str, **args: object) -> SimpleNamespace:
    return SimpleNamespace(function=function, args=args)


def test_a_new_email_and_a_changed_file_bear_the_environments_day(workspace: ReplaySuite) -> None:
    """The suite plays on 2024-05-15; the tools take the machine's clock."""
    played = session(workspace)
    email = played.call(
        call("send_email", recipients=["a@b.com"], subject="s", body="b", attachments=[]), "user"
    )
    file = played.call(call("append_to_file", file_id="3", content="more"), "user")
    new = played.call(call("create_file", filename="a.txt", content="c"), "user")
    assert "timestamp: 2024-05-15 12:00:00" in email.result
    assert "last_modified: 2024-05-15 12:00:00" in file.result
    assert "last_modified: 2024-05-15 12:00:00" in new.result
    assert str(datetime.now().year) not in email.result + file.result + new.result


def test_an_untouched_file_keeps_its_date(workspace: ReplaySuite) -> None:
    played = session(workspace)
    before = played.environment.cloud_drive.files["1"].last_modified
    played.call(call("append_to_file", file_id="3", content="more"), "user")
    assert played.environment.cloud_drive.files["1"].last_modified == before


def test_a_new_events_participants_are_sorted(workspace: ReplaySuite) -> None:
    played = session(workspace)
    names = ["zoe@x.com", "adam@x.com", "mia@x.com", "ben@x.com", "lou@x.com"]
    played.call(
        call(
            "create_calendar_event",
            title="t",
            start_time="2024-05-20 10:00",
            end_time="2024-05-20 11:00",
            participants=names,
        ),
        "user",
    )
    event = max(played.environment.calendar.events.values(), key=lambda e: int(e.id_))
    owner = played.environment.calendar.account_email
    assert event.participants == sorted([*names, owner])


def test_a_tools_error_is_a_result(workspace: ReplaySuite) -> None:
    step = session(workspace).call(call("delete_file", file_id="9999"), "user")
    assert step.failed
    assert step.result.startswith("ERROR ValueError")


def test_an_empty_result_has_a_text(banking: ReplaySuite) -> None:
    environment = banking.template.build({})
    environment.filesystem.files["empty.txt"] = ""
    played = ToolSession(banking.benchmark.tools, environment)
    step = played.call(call("read_file", file_path="empty.txt"), "user")
    assert not step.failed
    assert step.result == "(no output)"
