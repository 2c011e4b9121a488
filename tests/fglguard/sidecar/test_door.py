"""Keys, rates, sizes and web pages, before anything looks at a body."""

import pytest

from tests.fglguard.sidecar.conftest import answer, beginning, said

PATHS = ["/metrics", "/v1/episodes/e", "/v1/check", "/v1/score", "/v1/admin/reload", "/nothing"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("header", ["", "Bearer wrong", "Basic a-key-for-tests-only-0001"])
def test_without_a_key_nothing_is_told(serve_in_process, path, header, caplog):
    _, client = serve_in_process()
    for method in ("GET", "POST", "DELETE"):
        done = client.request(method, path, headers={"Authorization": header})
        assert done.status_code == 401
        assert done.headers["www-authenticate"] == "Bearer"
    assert "wrong" not in caplog.text


def test_web_pages_can_t_use_a_sidecar_without_keys(serve_in_process):
    _, client = serve_in_process(keys=())
    assert client.get("/metrics", headers={"Authorization": ""}).status_code == 200
    done = client.post("/v1/admin/reload", headers={"Origin": "https://evil.example"})
    assert (done.status_code, done.json()["error"]["code"]) == (403, "browser")


def test_a_rate_a_key(serve_in_process):
    _, client = serve_in_process(rate=0.001, keys=("one-key-of-two-0001", "one-key-of-two-0002"))
    one, other = ({"Authorization": f"Bearer one-key-of-two-000{n}"} for n in (1, 2))
    assert client.get("/v1/episodes/e", headers=one).status_code == 404
    done = client.get("/v1/episodes/e", headers=one)
    assert (done.status_code, done.json()["error"]["code"]) == (429, "rate")
    assert 990 <= int(done.headers["retry-after"]) <= 1000
    assert client.get("/v1/episodes/e", headers=other).status_code == 404
    assert client.get("/healthz").status_code == 200


def test_a_body_has_its_limit_declared_or_not(serve_in_process):
    service, client = serve_in_process(max_body=2000)
    kind = {"content-type": "application/json"}

    def pieces():
        for _ in range(10):
            yield b"x" * 500

    for content in (b"x" * 2001, pieces()):
        done = client.post("/v1/check", content=content, headers=kind)
        assert (done.status_code, done.json()["error"]["code"]) == (413, "too_large")
    assert client.post("/v1/check", content=b"x" * 2000, headers=kind).status_code == 400
    assert b'fglguard_refused_total{reason="too_large"} 2.0' in service.metrics.text()


def test_beyond_the_queue_is_429(serve_in_process):
    service, client = serve_in_process(queue=1)
    events = beginning(said(id="1"))
    assert client.post("/v1/episodes/e/messages", json=events).status_code == 200
    leave = service.queue.enter()
    for done in (
        client.post("/v1/check", json=answer()),
        client.post("/v1/episodes/e/messages", json=events),
        client.get("/v1/episodes/e"),
    ):
        assert (done.status_code, done.json()["error"]["code"]) == (429, "queue_full")
        assert done.headers["retry-after"] == "1"
    leave()
    assert client.post("/v1/check", json=answer()).status_code == 200
    assert service.queue.depth == 0
