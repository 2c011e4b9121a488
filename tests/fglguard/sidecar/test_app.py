"""Each request gets a clear status, and nothing that goes wrong becomes an allow."""

import hashlib
import json
import resource
import time
from dataclasses import fields

import pytest

from fglguard.bundle import load_bundle, sign_bundle
from fglguard.encoder import load_encoder
from fglguard.episode import episode_to_record
from fglguard.errors import SignatureError
from fglguard.guard import Guard
from fglguard.live.policy import Policy
from fglguard.sidecar.loading import load_guard
from fglguard.sidecar.records import VerdictRecord
from fglguard.sidecar.settings import allow_list
from fglguard.signature import read_public_key
from fglguard.verdict import Verdict
from tests.fglguard.sidecar.conftest import answer, beginning, said, write_bundle
from tests.fglguard.test_signature import write_key


class Poisonable:
    """An encoder that raises, or takes a second, for a text with a marked word."""

    def __init__(self) -> None:
        self.inner = load_encoder("hashed-words")
        self.name, self.dimension = self.inner.name, self.inner.dimension
        self.fingerprint = self.inner.fingerprint

    def encode(self, texts, *, progress=False):
        if any("poison" in text for text in texts):
            raise RuntimeError("tokenizer gave up on: poison")
        if any("slowly" in text for text in texts):
            time.sleep(1)
        return self.inner.encode(texts)


def load_poisonable(settings, before):
    return Guard(
        load_bundle(settings.bundle), Poisonable(), policy=settings.policy, limits=settings.limits
    )


def begin(client, episode="e"):
    done = client.post(f"/v1/episodes/{episode}/messages", json=beginning())
    assert done.status_code == 200, done.text


def problem(response):
    return response.status_code, response.json()["error"]["code"]


def metric(client, name):
    lines = client.get("/metrics").text.splitlines()
    found = [line for line in lines if line.startswith(f"fglguard_{name} ")]
    return float(found[0].split()[-1]) if found else None


def test_an_episode_from_its_first_message_to_its_end(serve_in_process):
    _, client = serve_in_process()
    begin(client)
    verdict = client.post("/v1/check", json=answer()).json()
    assert (verdict["decision"], verdict["status"], verdict["agent"]) == ("allow", "success", "a")
    told = client.get("/v1/episodes/e").json()
    assert (told["messages"], told["round"]) == (2, 1), "what may go out counts as said"
    assert told["agents"] == [{"id": "u", "kind": "user"}, {"id": "a", "kind": "agent"}]
    assert "please" not in json.dumps(told)
    assert client.delete("/v1/episodes/e").json() == {"episode": "e", "ended": True}
    for response in (client.get("/v1/episodes/e"), client.delete("/v1/episodes/e")):
        assert problem(response) == (404, "unknown_episode")
    assert problem(client.post("/v1/check", json=answer())) == (404, "unknown_episode")
    assert metric(client, 'checks_total{decision="allow",status="success"}') == 1
    assert metric(client, "drift_scores") == 1
    assert metric(client, "episodes_running") == 0


def test_the_record_is_the_verdict_s():
    assert set(VerdictRecord.model_fields) == {one.name for one in fields(Verdict)}


def test_messages_are_taken_once(serve_in_process):
    _, client = serve_in_process()
    both = beginning(said(id="1"), said("and then", id="2", agents={}))
    assert client.post("/v1/episodes/e/messages", json=both).json()["new"] == [True, True]
    assert client.post("/v1/episodes/e/messages", json=both).json()["new"] == [False, False]
    assert client.get("/v1/episodes/e").json()["messages"] == 2
    other = client.post("/v1/episodes/e/messages", json={"events": [said("other", id="1")]})
    assert problem(other) == (409, "reused_id")


@pytest.mark.parametrize(
    "event",
    [
        said(sender="nobody"),
        said(round=2),
        said(agents={"a": "user"}),
        said("x" * 1_000_000),
        said(" \n"),
        said(sender="a", receivers=["nobody"]),
    ],
    ids=["unknown agent", "a round before", "another kind", "1 MB", "no text", "unknown receiver"],
)
def test_what_can_t_be_a_message_is_refused_and_the_rest_kept(serve_in_process, event):
    _, client = serve_in_process()
    first = said(round=5)
    done = client.post("/v1/episodes/e/messages", json=beginning(first, event, first))
    assert problem(done) == (422, "bad_event")
    assert done.json()["error"]["taken"] == 1
    assert done.json()["error"]["message"].startswith("events[1]: ")
    assert client.get("/v1/episodes/e").json()["messages"] == 1
    check = {"event": {**event, "episode": "e"}}
    verdict = client.post("/v1/check", json=check).json()
    assert (verdict["status"], verdict["decision"]) == ("error", "block")


def post(client, body, episode="e"):
    return client.post(f"/v1/episodes/{episode}/messages", json=body)


def decided(client):
    """Status of a check of a calm answer."""
    return client.post("/v1/check", json=answer()).json()["status"]


REFUSED = {
    "too_large": {"content": b'{"events": [' + b"x" * 70_000},
    "malformed": {"content": b"{"},
    "media_type": {"content": b"hello", "headers": {"content-type": "text/plain"}},
    "invalid": {"json": {"events": [said(receivers=[f"r{n}" for n in range(1001)])]}},
    "invalid id": {"json": {"events": [said(id="i" * 600)]}},
    "bad_event": {"json": {"events": [said(sender="nobody")]}},
    "reused_id": {"json": {"events": [said("another text", id="1")]}},
    "runs_already": {"json": beginning(said("another text", id="9"))},
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_was_refused_is_not_forgotten(serve_in_process, why):
    """Whoever makes a tool's result unfit must not choose thereby what the guard gets to see."""
    _, client = serve_in_process(max_body=65_536)
    begin(client)
    sent = {"headers": {"content-type": "application/json"}, **REFUSED[why]}
    refused = client.post("/v1/episodes/e/messages", **sent)
    assert problem(refused)[1] == why.removesuffix(" id")
    gap = refused.json()["error"]["gap"]
    assert decided(client) == "error"
    assert post(client, {"events": [said("go on", id="3")]}).status_code == 200
    assert decided(client) == "error", "what is said later does not stand in its place"
    instead = {"events": [said("(withheld)", id="4")], "instead_of": gap}
    assert post(client, instead).status_code == 200
    assert decided(client) == "success"


def test_what_is_refused_leaves_no_gap_where_nothing_runs_and_what_may_be_sent_again_none(
    serve_in_process,
):
    service, client = serve_in_process(queue=1)
    refused = client.post("/v1/episodes/e/messages", content=b"{")
    assert refused.json()["error"]["gap"] is None
    begin(client)
    leave = service.queue.enter()
    assert problem(post(client, {"events": [said("more", id="2")]})) == (429, "queue_full")
    leave()
    assert decided(client) == "success"


@pytest.mark.parametrize("ids", [("2", "3"), (None, None), ("2", None)])
def test_what_came_after_an_event_at_fault_is_missing_too(serve_in_process, ids):
    _, client = serve_in_process()
    begin(client)
    two = [said("second", id=ids[0]), said("third", id=ids[1])]
    refused = post(client, {"events": [{**two[0], "sender": "nobody"}, two[1]]})
    gap = refused.json()["error"]["gap"]
    assert post(client, {"events": two[:1]}).status_code == 200
    assert decided(client) == "error", "the third is not there yet"
    rest = {"events": two[1:]} | ({} if all(ids) else {"instead_of": gap})
    assert post(client, rest).status_code == 200
    assert decided(client) == "success"


def test_an_episode_begins_only_where_that_is_said(serve_in_process):
    """After a restart its next message must not begin an empty one."""
    _, client = serve_in_process()
    assert problem(post(client, {"events": [said("yes, go on")]})) == (404, "unknown_episode")
    begin(client)
    begin(client)  # sent again
    assert problem(post(client, beginning(said("a new one", id="2")))) == (409, "runs_already")
    client.delete("/v1/episodes/e")
    assert post(client, beginning(said("a new one", id="2"))).status_code == 200


def test_a_check_beyond_those_that_may_wait_is_an_error_and_observing_is_not(serve_in_process):
    """Nothing that was said is turned away for want of a thread."""
    service, client = serve_in_process(load_poisonable, check_seconds=10)
    begin(client)
    room = service.generations.current.guard._threads._room
    while room.acquire(blocking=False):
        pass
    assert decided(client) == "error"
    assert post(client, {"events": [said("more", id="2")]}).status_code == 200


def test_any_script_and_control_characters_pass(serve_in_process):
    _, client = serve_in_process()
    texts = ["Ünï", "汉字", "مرحبا", "🦊", "\x00\x01\x1b[31m", "a\u202eb", "\ufeffx", "ก็"]
    events = beginning(*(said(text, id=text) for text in texts))
    name = "%E6%B1%89%2F%00%0A"
    assert client.post(f"/v1/episodes/{name}/messages", json=events).status_code == 200
    assert client.get(f"/v1/episodes/{name}").json()["episode"] == "汉/\x00\n"
    assert client.post("/v1/check", json=answer("汉/\x00\n")).json()["status"] == "success"


def test_what_is_no_request_is_told_without_quoting_it(serve_in_process):
    _, client = serve_in_process()
    begin(client)
    kind = {"content-type": "application/json"}
    for content in (b"{secret", b"\xff\xfe", b'{"round": ' + b"9" * 5000 + b"}", b"[" * 100_000):
        done = client.post("/v1/check", content=content, headers=kind)
        assert problem(done)[0] == 400, content[:10]
        assert "secret" not in done.text
    bad = [{}, [], 1, None, answer(kind="secret"), answer(text=5)]
    bad += [{**answer(), "secret": 1}, answer(round=True), answer(round=-1), answer(agents=["a"])]
    for content in bad:
        done = client.post("/v1/check", content=json.dumps(content), headers=kind)
        assert problem(done) == (422, "invalid"), content
        assert "secret" not in done.text.replace("body.secret", "")
    half = json.dumps(answer(text="\ud800 secret"))
    half = client.post("/v1/check", content=half, headers=kind).json()
    assert (half["status"], half["decision"]) == ("error", "block")
    half = json.dumps(answer(id="\ud800"))
    assert problem(client.post("/v1/check", content=half, headers=kind)) == (422, "invalid")
    assert problem(client.post("/v1/check", data={"a": 1})) == (415, "media_type")
    zipped = {**kind, "content-encoding": "gzip"}
    assert problem(client.post("/v1/check", content=b"x", headers=zipped)) == (415, "media_type")
    assert problem(client.get("/v1/check")) == (405, "method_not_allowed")
    assert problem(client.get("/v2")) == (404, "not_found")


def test_the_model_raising_is_an_error_with_the_operator_s_decision(serve_in_process, caplog):
    for on_error in ("block", "allow"):
        _, client = serve_in_process(load_poisonable, policy=Policy(on_error=on_error))
        begin(client)
        verdict = client.post("/v1/check", json=answer(text="poison secret"))
        assert verdict.status_code == 200
        found = verdict.json()
        assert (found["status"], found["decision"], found["score"]) == ("error", on_error, None)
        assert client.get("/v1/episodes/e").json()["messages"] == 1
        assert metric(client, f'checks_total{{decision="{on_error}",status="error"}}') == 1
        done = client.post("/v1/episodes/e/messages", json={"events": [said("poison secret")]})
        assert problem(done) == (500, "internal")
        assert "secret" not in verdict.text + done.text


def test_a_check_that_takes_too_long_is_an_error(serve_in_process):
    _, client = serve_in_process(load_poisonable, check_seconds=0.1)
    begin(client)
    verdict = client.post("/v1/check", json=answer(text="slowly")).json()
    assert (verdict["status"], verdict["decision"]) == ("error", "block")
    assert client.get("/v1/episodes/e").json()["messages"] == 1


def test_one_rewrite_then_block(serve_in_process, bundle):
    write_bundle(bundle, threshold=0.0)
    _, client = serve_in_process()
    begin(client)
    ask = {**answer(), "can_rewrite": True}
    first, second = (client.post("/v1/check", json=ask).json() for _ in range(2))
    assert [first["decision"], second["decision"]] == ["rewrite", "block"]
    assert second["drivers"]


def test_shadow_mode_tells_that_nothing_is_enforced(serve_in_process, bundle):
    write_bundle(bundle, threshold=0.0)
    _, client = serve_in_process(policy=Policy(mode="shadow"))
    begin(client)
    verdict = client.post("/v1/check", json=answer()).json()
    assert (verdict["decision"], verdict["enforced"]) == ("block", False)
    assert client.get("/healthz").json()["mode"] == "shadow"


def test_each_use_of_the_allow_list_is_recorded(serve_in_process, bundle, tmp_path):
    write_bundle(bundle, threshold=0.0)
    known = hashlib.sha256(b"known").hexdigest()
    allowed = allow_list(["a2"], ["safe_tool"], [known])
    path = tmp_path / "v"
    _, client = serve_in_process(policy=Policy(calls=True, allowed=allowed), log=path)
    begin(client)
    two = {"a2": "agent", "t": "tool"}
    call = {"kind": "call", "receivers": ["t"], "agents": two}
    checks = [
        answer(sender="a2", agents=two),
        answer(**call, tool="safe_tool"),
        answer(text="known"),
        answer(**call, tool="other"),
    ]
    found = [client.post("/v1/check", json=check).json() for check in checks]
    assert [one["status"] for one in found] == ["skipped", "skipped", "skipped", "success"]
    assert [one["decision"] for one in found] == ["allow", "allow", "allow", "block"]
    logged = [json.loads(line) for line in path.read_text().splitlines()]
    uses = ["agent 'a2'", "tool 'safe_tool'", f"content {known[:16]}", None]
    assert [one["allowed_by"] for one in logged] == uses
    assert "done" not in path.read_text()
    for entry in ("agent", "tool", "content"):
        assert metric(client, f'allow_list_uses_total{{entry="{entry}"}}') == 1


def test_stored_episodes(serve_in_process, make_episode, bundle):
    _, client = serve_in_process()
    episodes = [make_episode(number, "a", number % 2 == 0) for number in range(5)]
    records = [episode_to_record(one) for one in episodes]
    done = client.post("/v1/score", json={"episodes": records})
    assert done.status_code == 200, done.text
    expected = Guard.load(bundle).score(episodes)
    found = done.json()["verdicts"]
    assert [one["score"] for one in found] == pytest.approx([one.score for one in expected])
    assert [one["episode_id"] for one in found] == [one.id for one in episodes]
    assert metric(client, "drift_scores") == 0
    client.post("/v1/score", json={"episodes": records, "live": True})
    assert metric(client, "drift_scores") == 5
    for wrong in ({"schema": 2}, {"final_agent": "nobody"}, {"task": []}):
        done = client.post("/v1/score", json={"episodes": [records[0], {**records[1], **wrong}]})
        assert done.status_code == 422
        assert "episodes" in done.json()["error"]["message"]
    many = client.post("/v1/score", json={"episodes": records[:1] * 257})
    assert problem(many) == (422, "invalid")


def test_ready_only_with_a_model_and_a_calibration(serve_in_process, bundle):
    service, client = serve_in_process()
    told = client.get("/healthz", headers={"authorization": ""})
    loaded = load_bundle(bundle)
    assert told.status_code == 200
    ids = (told.json()["model_id"], told.json()["calibration_id"])
    assert ids == (loaded.model_id, loaded.calibration_id)
    service.queue.close()
    told = client.get("/healthz")
    assert (told.status_code, told.json()["ready"], told.json()["status"]) == (
        503,
        False,
        "closing",
    )
    assert problem(client.get("/metrics")) == (503, "closing")


def test_a_reload_that_breaks_down_counts_and_leaves_the_guard(serve_in_process):
    calls = []

    def load(settings, before):
        calls.append(before)
        if len(calls) > 1:
            raise MemoryError
        return load_guard(settings, before)

    service, client = serve_in_process(load)
    guard = service.generations.current.guard
    assert client.post("/v1/admin/reload").status_code == 500
    assert metric(client, 'reloads_total{outcome="failed"}') == 1
    assert service.generations.current.guard is guard


def test_reload(serve_in_process, bundle):
    _, client = serve_in_process()
    begin(client)
    write_bundle(bundle, threshold=0.0, seed=3)
    done = client.post("/v1/admin/reload")
    assert done.status_code == 200
    assert done.json()["model_id"] == load_bundle(bundle).model_id
    assert client.post("/v1/check", json=answer()).json()["decision"] == "block"
    (bundle / "guard.json").unlink()
    assert problem(client.post("/v1/admin/reload")) == (409, "bundle_refused")
    assert client.post("/v1/check", json=answer()).json()["status"] == "success"
    assert metric(client, 'reloads_total{outcome="done"}') == 1
    assert metric(client, 'reloads_total{outcome="refused"}') == 1
    assert client.get("/healthz").json()["model_id"] == done.json()["model_id"]


def test_a_guard_that_must_be_signed_at_the_start_and_at_each_reload(
    serve_in_process, bundle, tmp_path
):
    key = write_key(tmp_path / "host.key")
    signed_by = read_public_key(tmp_path / "host.pub")
    with pytest.raises(SignatureError, match=r"guard\.json\.sig"):
        serve_in_process(signed_by=signed_by)
    sign_bundle(bundle, key)
    _, client = serve_in_process(signed_by=signed_by)
    write_bundle(bundle, threshold=0.0, seed=3)
    assert problem(client.post("/v1/admin/reload")) == (409, "bundle_refused")
    sign_bundle(bundle, key)
    assert client.post("/v1/admin/reload").status_code == 200


@pytest.mark.parametrize("required", [False, True])
def test_a_full_disk(serve_in_process, tmp_path, required, caplog):
    """Verdicts stay right, it shows everywhere, and where the log is required checks block.

    A limit on the size of files stands for the full disk, as in test_verdict_log.
    """
    _, client = serve_in_process(log=tmp_path / "v", log_required=required)
    begin(client)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        found = [client.post("/v1/check", json=answer()).json() for _ in range(2)]
        health, failing = client.get("/healthz"), metric(client, "verdict_log_failing")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    expected = ("error", "block") if required else ("success", "allow")
    assert [(one["status"], one["decision"]) for one in found] == [expected] * 2
    assert (health.status_code, health.json()["status"]) == (
        503 if required else 200,
        "log_failing",
    )
    assert (failing, metric(client, "verdict_log_lost_total")) == (1, 2)
    assert "can't be written: File too large" in caplog.text
    # There is room again. Where the log is required, one check is refused and logged as such.
    after = [client.post("/v1/check", json=answer()).json()["decision"] for _ in range(2)]
    assert after == (["block", "allow"] if required else ["allow", "allow"])
    assert client.get("/healthz").json()["status"] == "ready"
    logged = [json.loads(line)["decision"] for line in (tmp_path / "v").read_text().splitlines()]
    assert logged == after
