"""A real process on loopback: keys, TLS, slow clients, stops, reloads and logs."""

import contextlib
import datetime
import ipaddress
import json
import resource
import signal
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from fglguard.bundle import load_bundle
from tests.fglguard.sidecar.conftest import KEY, answer, beginning, running, write_bundle

pytestmark = pytest.mark.long


def begin(client, episode="e"):
    done = client.post(f"/v1/episodes/{episode}/messages", json=beginning())
    assert done.status_code == 200, done.text


def address(sidecar):
    parts = urlsplit(sidecar.url)
    return parts.hostname, parts.port


def test_keys_queue_rate_and_messages_sent_twice(bundle, keys):
    with running(bundle, "--keys", keys, "--rate", "5", "--queue", "4") as sidecar:
        assert httpx.get(f"{sidecar.url}/healthz").status_code == 200
        assert httpx.get(f"{sidecar.url}/metrics").status_code == 401
        wrong = {"Authorization": f"Bearer {KEY}x"}
        assert (
            httpx.post(f"{sidecar.url}/v1/check", headers=wrong, json=answer()).status_code == 401
        )
        with sidecar.client() as client:
            begin(client)
            begin(client)
            assert client.get("/v1/episodes/e").json()["messages"] == 1
            found = [client.get("/v1/episodes/e") for _ in range(80)]
            refused = [one for one in found if one.status_code == 429]
            assert refused
            assert {one.status_code for one in found} == {200, 429}
            assert all(one.headers["retry-after"] == "1" for one in refused)
        assert sidecar.stop() == 0
        assert KEY not in sidecar.text


def test_more_than_the_queue_holds_at_one_time(bundle):
    with running(bundle, "--queue", "1") as sidecar, sidecar.client() as client:
        begin(client)

        def check(number):
            return client.post("/v1/check", json=answer(text=f"a long answer {number} " * 5000))

        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(check, range(40)))
        statuses = {one.status_code for one in found}
        assert statuses == {200, 429}
        for one in found:
            if one.status_code == 200:
                assert one.json()["status"] == "success"
            else:
                assert one.headers["retry-after"] == "1"


def test_sigterm_finishes_what_was_taken_and_takes_nothing_more(bundle, tmp_path):
    """A request of which the head and a part of the body have come is taken: it is answered."""
    log = tmp_path / "verdicts.jsonl"
    with running(bundle, "--log", log) as sidecar, sidecar.client() as client:
        begin(client)
        body = json.dumps(answer()).encode()
        head = (
            "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(address(sidecar), timeout=30) as connection:
            connection.sendall(head.encode() + body[:20])
            time.sleep(0.5)
            sidecar.process.send_signal(signal.SIGTERM)
            sidecar.wait_for("Waiting for")
            with pytest.raises(httpx.TransportError):
                httpx.get(f"{sidecar.url}/healthz", timeout=5)
            connection.sendall(body[20:])
            received = b""
            while piece := connection.recv(65536):
                received += piece
        assert received.startswith(b"HTTP/1.1 200")
        assert json.loads(received.partition(b"\r\n\r\n")[2])["status"] == "success"
        assert sidecar.process.wait(30) == 0
    assert len(log.read_text().splitlines()) == 1


def test_a_stop_is_bounded(bundle):
    """A client that never sends its body holds up neither the stop nor, for long, a connection."""
    options = ("--grace-seconds", "1", "--slow-seconds", "60")
    with running(bundle, *options) as sidecar:
        head = "POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        with socket.create_connection(address(sidecar), timeout=30) as connection:
            connection.sendall(f"{head}Content-Length: 100\r\n\r\n".encode())
            time.sleep(0.5)
            assert sidecar.stop(20) == 0


def test_slow_clients_are_cut_off(bundle):
    with running(bundle, "--slow-seconds", "0.5") as sidecar:
        head = "POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        for sent, status in (
            (b"", b""),  # No head at all,
            (b"POST /v1/check HT", b""),  # half of one,
            (f"{head}Content-Length: 100\r\n\r\n{{".encode(), b"HTTP/1.1 408"),  # half of a body.
        ):
            with socket.create_connection(address(sidecar), timeout=30) as connection:
                connection.sendall(sent)
                received = b""
                while piece := connection.recv(65536):
                    received += piece
            assert received.startswith(status)
            assert bool(received) == bool(status)
        with sidecar.client() as client:
            begin(client)
            time.sleep(0.8)  # The idle connection is closed, and the client opens another.
            begin(client)


def test_heads_without_an_end_are_cut_off(bundle):
    """Whole bodies may be longer than a head; a pipelined request's head may not either."""
    endless = b"X-Long: " + b"x" * 2_000_000
    body = json.dumps(answer(text="x" * 500_000)).encode()
    whole = (
        b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    )
    with running(bundle, "--slow-seconds", "120") as sidecar:
        for sent, status in (
            (b"GET /healthz HTTP/1.1\r\n" + endless, b"HTTP/1.1 400"),
            (whole + b"GET /healthz HTTP/1.1\r\n" + endless, b"HTTP/1.1 4"),
            (whole.replace(b"Host: x", b"Host: x\r\nConnection: close"), b"HTTP/1.1 404"),
        ):
            with socket.create_connection(address(sidecar), timeout=30) as connection:
                received = b""
                with contextlib.suppress(ConnectionError):
                    connection.sendall(sent)
                with contextlib.suppress(ConnectionError):
                    while piece := connection.recv(65536):
                        received += piece
            assert received.startswith(status) or (not received and status != b"HTTP/1.1 404")
        with sidecar.client() as client:
            begin(client)


def test_no_request_is_lost_in_reloads(bundle):
    """Threads observe and check without a pause while the bundle changes 5 times.

    Each answer is of one of the guards, each episode is whole at the end, and after a while the
    answers are of the last guard.
    """
    with running(bundle) as sidecar:
        stop, found = threading.Event(), []

        def work(name):
            with sidecar.client() as client:
                begin(client, name)
                count = 0
                while not stop.is_set():
                    done = client.post("/v1/check", json=answer(name, id=f"a{count}"))
                    assert done.status_code == 200, done.text
                    found.append(done.json())
                    count += 1
                return count, client.get(f"/v1/episodes/{name}").json()["messages"]

        known = {load_bundle(bundle).model_id}
        with ThreadPoolExecutor(4) as threads:
            running_work = [threads.submit(work, f"e{number}") for number in range(4)]
            try:
                with sidecar.client() as client:
                    for seed in range(10, 15):
                        write_bundle(bundle, seed=seed)
                        if seed % 2:
                            last = client.post("/v1/admin/reload").json()["model_id"]
                        else:
                            sidecar.process.send_signal(signal.SIGHUP)
                            last = load_bundle(bundle).model_id
                            until = time.monotonic() + 30
                            while client.get("/healthz").json()["model_id"] != last:
                                assert time.monotonic() < until
                                time.sleep(0.05)
                        known.add(last)
                until = time.monotonic() + 30
                while not any(one["model_id"] == last for one in found[-8:]):
                    assert time.monotonic() < until
                    time.sleep(0.05)
            finally:
                stop.set()
            counts = [one.result(60) for one in running_work]
        assert all(said_once + 1 == messages for said_once, messages in counts)
        assert {one["status"] for one in found} == {"success"}
        assert {one["model_id"] for one in found} <= known
        assert len(known) == 6
        assert sum(count for count, _ in counts) == len(found)
        assert sidecar.stop() == 0


def test_a_reload_that_fails_leaves_the_guard(bundle):
    with running(bundle) as sidecar, sidecar.client() as client:
        before = client.get("/healthz").json()
        (bundle / "model.safetensors").write_bytes(b"broken")
        sidecar.process.send_signal(signal.SIGHUP)
        sidecar.wait_for("reload refused, the guard before goes on")
        assert client.get("/healthz").json() == before
        begin(client)
        assert client.post("/v1/check", json=answer()).json()["status"] == "success"


def test_the_log_is_rotated_its_owner_s_and_without_text(bundle, tmp_path):
    log = tmp_path / "verdicts.jsonl"
    options = ("--log", log, "--log-bytes", "4096", "--log-files", "2")
    with running(bundle, *options, umask=0) as sidecar, sidecar.client() as client:
        begin(client)
        for number in range(20):
            done = client.post("/v1/check", json=answer(text="a secret", id=f"a{number}"))
            assert done.json()["status"] == "success"
        assert sidecar.stop() == 0
    files = sorted(tmp_path.glob("verdicts.jsonl*"))
    assert len(files) == 3
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert all(file.stat().st_size <= 4096 for file in files)
    kept = [json.loads(line) for file in reversed(files) for line in file.read_text().splitlines()]
    assert [one["event_id"] for one in kept] == [f"a{n}" for n in range(20 - len(kept), 20)]
    assert "secret" not in "".join(file.read_text() for file in files)


def test_a_full_disk_in_a_process(bundle, tmp_path):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    options = ("--log", tmp_path / "v", "--log-required")
    with (
        running(bundle, *options, preexec_fn=small_files) as sidecar,
        sidecar.client() as client,
    ):
        begin(client)
        found = [client.post("/v1/check", json=answer()).json() for _ in range(10)]
        assert [one["decision"] for one in found] == sorted(one["decision"] for one in found)
        assert found[-1]["status"] == "error"
        assert client.get("/healthz").status_code == 503
        sidecar.wait_for("can't be written: File too large")


@pytest.fixture
def certificate(tmp_path):
    """A key and a certificate of its own for 127.0.0.1, for an hour."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "sidecar")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    files = tmp_path / "cert.pem", tmp_path / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


def test_tls(bundle, keys, certificate):
    options = ("--keys", keys, "--tls-cert", certificate[0], "--tls-key", certificate[1])
    with running(bundle, *options) as sidecar:
        assert sidecar.url.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=str(certificate[0]))
        with sidecar.client(verify=context) as client:
            begin(client)
            assert client.post("/v1/check", json=answer()).json()["decision"] == "allow"
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.get(f"{sidecar.url}/healthz")
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{sidecar.url.replace('https', 'http')}/healthz")
        assert sidecar.stop() == 0


def test_what_keeps_it_from_starting_is_told(bundle, tmp_path, certificate):
    with pytest.raises(AssertionError, match="expected a certificate and its key in PEM"):
        running(bundle, "--tls-cert", certificate[1], "--tls-key", certificate[0]).__enter__()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AssertionError, match="can't listen there: Address already in use"):
            running(bundle, "--port", str(port)).__enter__()
