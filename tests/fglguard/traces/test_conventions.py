"""The pinned names are those of OpenTelemetry's own package."""

import warnings

from fglguard.traces import conventions as names

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
    from opentelemetry.semconv._incubating.attributes import session_attributes as session
from opentelemetry.semconv.schemas import Schemas


def test_genai_names_are_the_packages():
    ours = {
        value
        for name, value in vars(names).items()
        if name.startswith("GEN_AI_") and name != "GEN_AI_EVALUATION_EVENT"
    }
    theirs = {value for name, value in vars(gen_ai).items() if name.startswith("GEN_AI_")}
    assert ours <= theirs
    assert names.SESSION == session.SESSION_ID


def test_operations_are_the_packages():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = {operation.value for operation in gen_ai.GenAiOperationNameValues}
    assert {names.INVOKE_AGENT, names.EXECUTE_TOOL, *names.INFERENCE} <= theirs


def test_the_pinned_version_is_a_release():
    assert names.SCHEMA_URL in {schema.value for schema in Schemas}
