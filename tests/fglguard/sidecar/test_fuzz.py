"""The interface keeps to its own description, whatever is sent.

Schemathesis makes requests of the OpenAPI description, valid ones and broken ones, always the same,
and holds each answer to it. What is left out: `positive_data_acceptance`, as rules that no schema
can say (an agent must be known, rounds never fall) refuse data that the schema allows.
"""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.fglguard.sidecar.conftest import KEY, beginning

pytestmark = pytest.mark.long

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
    ignored_auth,
]
WITHOUT_INPUT = {"POST /v1/admin/reload", "GET /metrics", "GET /healthz"}
EXAMPLES = 10
BOUNDED = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_every_operation_keeps_to_its_description(serve_in_process, tmp_path):
    service, client = serve_in_process(log=tmp_path / "v")
    client.post("/v1/episodes/e/messages", json=beginning())
    config = schemathesis.Config.from_dict(
        {"generation": {"deterministic": True, "max-examples": EXAMPLES}}
    )
    schema = schemathesis.openapi.from_asgi("/openapi.json", client.app, config=config)
    tried = []
    for found in schema.get_all_operations():
        operation = found.ok()
        # What takes no input can't be sent a broken one.
        modes = list(schemathesis.GenerationMode)
        for mode in modes if operation.label not in WITHOUT_INPUT else modes[:1]:

            def keeps(case):
                tried.append(case.operation.label)
                case.call_and_validate(headers={"Authorization": f"Bearer {KEY}"}, checks=CHECKS)

            given(case=operation.as_strategy(generation_mode=mode))(BOUNDED(keeps))()
    assert len(set(tried)) == 8
    assert set(tried) > WITHOUT_INPUT
    assert service.queue.depth == 0
    assert client.get("/healthz").json()["ready"]
