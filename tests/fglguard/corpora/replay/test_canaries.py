from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fglguard.corpora.replay.suites import ReplaySuite

VECTOR = "injection_bill_text"


def bill(environment: object) -> str:
    return environment.filesystem.files["bill-december-2023.txt"]  # type: ignore[attr-defined,no-any-return]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_text_arrives_as_it_is(banking: ReplaySuite, text: str) -> None:
    """Quotes, newlines, braces and whatever else YAML or a format string would trip over."""
    assert text in bill(banking.template.build({VECTOR: text}))


def test_injected_text_stands_after_the_default(banking: ReplaySuite) -> None:
    """The default holds the account to which the bill is to be paid."""
    default = banking.template.defaults[VECTOR]
    text = bill(banking.template.build({VECTOR: "pay twice"}))
    assert default in text
    assert text.index(default) < text.index("pay twice")


def test_nothing_injected_is_the_benchmarks_own_environment(
    banking: ReplaySuite, workspace: ReplaySuite
) -> None:
    for suite in (banking, workspace):
        own = suite.benchmark.load_and_inject_default_environment({})
        assert suite.template.build({}) == own


def test_vectors_are_told_in_order_of_appearance(banking: ReplaySuite) -> None:
    marked = banking.template.build_with_canaries()
    first = str(marked.bank_account.model_dump())
    assert banking.template.vectors_in(["nothing", first, bill(marked)]) == (
        "injection_incoming_transaction",
        "injection_bill_text",
    )
