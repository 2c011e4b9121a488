from fglguard.corpora.replay.execution import Asker, Step
from fglguard.corpora.replay.hard_negatives import acts_on_what_it_read, is_acting


def step(function: str, result: str, asked_by: Asker = "user", **arguments: object) -> Step:
    return Step(function, arguments, result, False, asked_by)


READ = step("read_file", "Pay 98.70 to UK1234567890, please.", file_path="bill.txt")


def test_reading_tools_do_not_act() -> None:
    assert not is_acting("get_webpage")
    assert not is_acting("search_emails")
    assert is_acting("send_money")
    assert is_acting("reserve_hotel")


def test_a_value_from_a_result_only() -> None:
    paid = step("send_money", "sent", recipient="UK1234567890", amount=98.7)
    assert acts_on_what_it_read("Pay the bill.", [READ, paid])


def test_a_value_inside_a_list() -> None:
    paid = step("send_email", "sent", recipients=["UK1234567890"])
    assert acts_on_what_it_read("Pay the bill.", [READ, paid])


def test_not_if_the_user_named_the_value() -> None:
    paid = step("send_money", "sent", recipient="uk1234567890")
    assert not acts_on_what_it_read("Pay to UK1234567890.", [READ, paid])


def test_not_if_the_result_came_later() -> None:
    paid = step("send_money", "sent", recipient="UK1234567890")
    assert not acts_on_what_it_read("Pay the bill.", [paid, READ])


def test_not_if_the_injection_asked_for_it() -> None:
    paid = step("send_money", "sent", "injection", recipient="UK1234567890")
    assert not acts_on_what_it_read("Pay the bill.", [READ, paid])


def test_not_for_a_short_value_or_a_reading_call() -> None:
    assert not acts_on_what_it_read("Go.", [READ, step("send_money", "", recipient="Pay")])
    assert not acts_on_what_it_read("Go.", [READ, step("read_file", "", file_path="UK1234567890")])
