"""Who stands in the network: with certificates of other kinds, and with what was said before."""

import contextlib
import socket
import subprocess

import pytest

from scripts.provisioning.checks.reach import check_reach
from tests.sites.certificates import DAY, write_certificates, write_server_certificate
from tests.sites.deployment import Deployment
from tests.sites.impostor import Impostor
from tests.sites.relay import Relay

pytestmark = pytest.mark.sites

TRIES_SECONDS = 40


@pytest.fixture(scope="module")
def deployment(tmp_path_factory, sites):
    made = Deployment(tmp_path_factory.mktemp("impostors"))
    try:
        made.start_superlink()
        for site in sites:
            made.register(site.name)
        yield made
    finally:
        made.close()


@pytest.fixture
def impostors(deployment, tmp_path):
    """By what is wrong with the certificate that each shows."""
    write_certificates(tmp_path / "stranger")
    write_server_certificate(tmp_path / "expired", deployment.authority, until=-DAY)
    write_server_certificate(tmp_path / "other name", deployment.authority, address="127.0.0.9")
    made = {name: Impostor(tmp_path / name) for name in ("stranger", "expired", "other name")}
    yield made
    for one in made.values():
        one.close()


def test_no_site_believes_a_certificate_that_is_not_the_hosts(deployment, impostors, sites):
    """Of another authority, of the right one and expired, of the right one for another address.

    The three SuperNodes try for a while, or give up; none sends a byte, and the log says why.
    """
    for site, impostor in zip(sites, impostors.values(), strict=True):
        deployment.start_site(site.name, site.path, port=impostor.port)
    for site, (kind, impostor) in zip(sites, impostors.items(), strict=True):
        process = deployment.processes[site.name]
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(TRIES_SECONDS)
        said = deployment.log(site.name).read_text()
        assert "SuperNode ID" not in said
        assert "CERTIFICATE_VERIFY_FAILED" in said, (kind, said)
        assert impostor.refusals and impostor.heard == b"", kind
        deployment.stop(site.name)


class Record:
    """What a kit says of where the host is."""

    def __init__(self, port):
        self.address, self.port = "127.0.0.1", port


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("stranger", "certificate signature failure"),
        ("expired", "certificate has expired"),
        ("other name", "IP address mismatch"),
    ],
)
def test_the_check_says_what_is_wrong_with_the_certificate(deployment, impostors, kind, told):
    (finding,) = check_reach(deployment.host, Record(impostors[kind].port))
    assert told in str(finding)
    assert "do not start" in str(finding)


def test_a_registration_that_is_replayed_makes_no_second_node(deployment, sites):
    """The same key once more, by the host's own command: refused, and one node has it."""
    public = f"{deployment.folder / sites[0].name}.pub"
    again = deployment.flwr("supernode", "register", public)
    assert not again["success"]
    listed = deployment.flwr("supernode", "list")["nodes"]
    assert [int(one["node-id"]) for one in listed].count(int(deployment.nodes["a-0"])) == 1
    assert len(listed) == len(sites)


def test_what_a_site_has_said_is_worth_nothing_when_it_is_said_again(deployment, sites):
    """Whoever sits in the network sends a site's connection once more, byte for byte."""
    relay = Relay(deployment.port)
    try:
        deployment.start_site("b-0", sites[1].path, port=relay.port)
        deployment.wait_for("b-0", "SuperNode ID")
        deployment.stop("b-0")
    finally:
        relay.close()
    before = deployment.flwr("supernode", "list")["nodes"]
    whole = [bytes(said) for said in relay.said if len(said) > 1000]
    assert whole
    for said in whole:
        with socket.create_connection(("127.0.0.1", deployment.port), 10) as connection:
            connection.settimeout(10)
            with contextlib.suppress(ConnectionError):
                connection.sendall(said)
                answer = b""
                while piece := connection.recv(65536):
                    answer += piece
            # An alert (21) ends what TLS 1.3 answers: nothing was decrypted.
            assert b"HTTP" not in answer
    after = deployment.flwr("supernode", "list")["nodes"]
    assert [one["node-id"] for one in after] == [one["node-id"] for one in before]
