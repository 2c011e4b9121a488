"""Keys against OpenSSH's own programs."""

import shutil
import subprocess

import pytest
from cryptography.hazmat.primitives import serialization

from fglguard.errors import FederationError
from scripts.provisioning.key_pairs import (
    bundle_public_text,
    new_bundle_key,
    new_site_key,
    pem_of,
    public_text_of,
    site_public_text,
)

needs_openssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")


def keygen(*arguments):
    command = ["ssh-keygen", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


@needs_openssh
@pytest.mark.parametrize(
    ("make", "kind"), [(new_site_key, "384 SHA256"), (new_bundle_key, "256 SHA256")]
)
def test_openssh_derives_the_same_public_key(tmp_path, make, kind):
    path = tmp_path / "key"
    path.write_bytes(make())
    path.chmod(0o600)
    assert keygen("-y", "-f", path).split()[:2] == public_text_of(path.read_bytes(), path).split()
    assert keygen("-l", "-f", path).startswith(kind)


@needs_openssh
def test_a_key_that_a_site_made_with_ssh_keygen_is_taken_without_its_comment(tmp_path):
    path = tmp_path / "own"
    keygen("-q", "-t", "ecdsa", "-b", "384", "-N", "", "-C", "me@there", "-f", path)
    public = path.with_suffix(".pub")
    text = site_public_text(public.read_bytes(), public)
    assert "me@there" not in text
    assert text == public_text_of(path.read_bytes(), path)
    with pytest.raises(FederationError, match="got a private one"):
        site_public_text(path.read_bytes(), path)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl")
@needs_openssh
def test_a_public_key_of_openssls_is_taken_as_openssh_reads_it(tmp_path):
    private, public = tmp_path / "own", tmp_path / "own.pem"
    make = ["openssl", "ecparam", "-name", "secp384r1", "-genkey", "-noout", "-out", str(private)]
    subprocess.run(make, check=True, timeout=60)
    give = ["openssl", "ec", "-in", str(private), "-pubout", "-out", str(public)]
    subprocess.run(give, check=True, timeout=60, capture_output=True)
    text = site_public_text(public.read_bytes(), public)
    assert text.split() == keygen("-i", "-m", "PKCS8", "-f", public).split()
    # What a site types before it starts: Flower reads OpenSSH's format alone.
    keygen("-q", "-p", "-N", "", "-f", private)
    assert public_text_of(private.read_bytes(), private) == text


@needs_openssh
@pytest.mark.parametrize("kind", [("ed25519",), ("rsa", "-b", "2048")])
def test_another_kind_of_key_is_refused_with_the_command_that_makes_the_right_one(tmp_path, kind):
    path = tmp_path / "own"
    keygen("-q", "-t", *kind, "-N", "", "-f", path)
    with pytest.raises(FederationError, match="ssh-keygen -t ecdsa -b 384"):
        site_public_text(path.with_suffix(".pub").read_bytes(), "own.pub")


@needs_openssh
def test_a_key_with_a_passphrase_is_refused(tmp_path):
    path = tmp_path / "own"
    keygen("-q", "-t", "ecdsa", "-b", "384", "-N", "secret", "-f", path)
    with pytest.raises(FederationError, match="without a passphrase"):
        public_text_of(path.read_bytes(), path)


def test_what_is_no_key_is_refused():
    with pytest.raises(FederationError, match=r"x: expected a public key"):
        site_public_text(b"hello", "x")
    site = public_text_of(new_site_key(), "x")
    with pytest.raises(FederationError, match="expected an Ed25519 public key"):
        bundle_public_text(site, "x")


def test_the_pem_is_the_one_that_flower_registers():
    from flwr.supercore.primitives.asymmetric import public_key_to_bytes

    text = public_text_of(new_site_key(), "x")
    key = serialization.load_ssh_public_key(text.encode())
    assert pem_of(text) == public_key_to_bytes(key)
