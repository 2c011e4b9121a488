"""Signatures are OpenSSH's, and nothing but the right bytes by the right key passes."""

import base64
import shutil
import subprocess

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from fglguard.errors import SignatureError
from fglguard.signature import read_public_key, require_signature, sign

MESSAGE = b'{"schema": 1}\n'
needs_ssh_keygen = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no ssh-keygen here")


def write_key(path, key=None):
    """An OpenSSH private key at `path`, the public one beside it as `.pub`."""
    key = key or ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    path.touch(mode=0o600)
    path.write_bytes(private)
    path.with_suffix(".pub").write_bytes(public + b" host\n")
    return path


@pytest.fixture
def key(tmp_path):
    return write_key(tmp_path / "host.key")


@pytest.fixture
def public(key):
    return read_public_key(key.with_suffix(".pub"))


def ssh_keygen(*arguments, **options):
    return subprocess.run(
        ["ssh-keygen", *map(str, arguments)],
        capture_output=True,
        timeout=30,
        check=False,
        **options,
    )


def test_what_was_signed_passes(key, public):
    require_signature(MESSAGE, sign(MESSAGE, key), public, "g.sig")


def test_every_changed_byte_is_refused(key, public):
    """Of the message, of the signature and of its armour alike."""
    signature = sign(MESSAGE, key)
    for place in range(len(MESSAGE)):
        changed = bytearray(MESSAGE)
        changed[place] ^= 1
        with pytest.raises(SignatureError, match=r"does not fit what it stands beside"):
            require_signature(bytes(changed), signature, public, "g.sig")
    for place in range(len(signature)):
        changed = bytearray(signature)
        changed[place] ^= 1
        with pytest.raises(SignatureError, match=r"\Ag\.sig: "):
            require_signature(MESSAGE, bytes(changed), public, "g.sig")


def test_the_text_names_file_and_key(tmp_path, key, public):
    other = write_key(tmp_path / "other")
    fingerprint = read_public_key(other.with_suffix(".pub")).fingerprint
    wanted = f"g.sig: expected a signature by the key {public.fingerprint} ({tmp_path}/host.pub)"
    for signature, found in (
        (None, "found no such file"),
        (b"nothing\n", "found no signature of OpenSSH's in it"),
        (sign(MESSAGE, other), f"found one by another key, {fingerprint}"),
    ):
        with pytest.raises(SignatureError) as told:
            require_signature(MESSAGE, signature, public, "g.sig")
        assert str(told.value).startswith(wanted)
        assert found in str(told.value)


@needs_ssh_keygen
def test_ssh_keygen_takes_our_signature_and_knows_the_fingerprint(tmp_path, key, public):
    (tmp_path / "sig").write_bytes(sign(MESSAGE, key))
    line = key.with_suffix(".pub").read_text().split()
    (tmp_path / "signers").write_text(f"host {line[0]} {line[1]}\n")
    done = ssh_keygen(
        *("-Y", "verify", "-f", tmp_path / "signers", "-I", "host", "-n", "fglguard-guard"),
        *("-s", tmp_path / "sig"),
        input=MESSAGE,
    )
    assert done.returncode == 0, done.stderr
    assert public.fingerprint in ssh_keygen("-l", "-f", key.with_suffix(".pub")).stdout.decode()


@needs_ssh_keygen
@pytest.mark.parametrize(("namespace", "fits"), [("fglguard-guard", True), ("git", False)])
def test_we_take_that_of_ssh_keygen_for_our_purpose_alone(tmp_path, key, public, namespace, fits):
    (tmp_path / "guard.json").write_bytes(MESSAGE)
    done = ssh_keygen("-Y", "sign", "-n", namespace, "-f", key, tmp_path / "guard.json")
    assert done.returncode == 0, done.stderr
    signature = (tmp_path / "guard.json.sig").read_bytes()
    if fits:
        require_signature(MESSAGE, signature, public, "g.sig")
        return
    with pytest.raises(SignatureError, match="for another purpose"):
        require_signature(MESSAGE, signature, public, "g.sig")


def test_a_public_key_is_a_file_or_its_line(key, public):
    line = key.with_suffix(".pub").read_text()
    assert read_public_key(line).data == public.data
    assert str(read_public_key(line)) == f"{public.fingerprint} (as given)"


@pytest.mark.parametrize("kind", ["missing", "private", "ecdsa", "damaged"])
def test_another_thing_than_a_public_key_is_refused(tmp_path, key, kind):
    path = tmp_path / "host.pub"
    if kind == "missing":
        path.unlink()
    elif kind == "private":
        path = key
    elif kind == "ecdsa":
        path = write_key(tmp_path / "ecdsa", ec.generate_private_key(ec.SECP384R1()))
        path = path.with_suffix(".pub")
    else:
        first, blob, *_ = path.read_text().split()
        path.write_text(f"{first} {base64.b64encode(base64.b64decode(blob)[:-1]).decode()}\n")
    with pytest.raises(SignatureError, match=str(path)):
        read_public_key(path)


@pytest.mark.parametrize("kind", ["missing", "public", "ecdsa"])
def test_another_thing_than_a_private_key_can_not_sign(tmp_path, key, kind):
    path = {"missing": tmp_path / "none", "public": tmp_path / "host.pub"}.get(kind)
    path = path or write_key(tmp_path / "ecdsa", ec.generate_private_key(ec.SECP384R1()))
    with pytest.raises(SignatureError, match=str(path)):
        sign(MESSAGE, path)
