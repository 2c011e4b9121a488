"""What an operator types is right, or refused with the option's name."""

from pathlib import Path

import pytest

from fglguard.errors import SettingsError
from fglguard.sidecar.settings import SidecarSettings, allow_list, is_loopback

BUNDLE = Path("guard")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "[::1]", "localhost"])
def test_on_this_machine_no_keys_are_needed(host):
    assert is_loopback(host)
    assert SidecarSettings(BUNDLE, host=host).host == host


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "10.0.0.1", "guard.example", "localhost.example"]
)
def test_beyond_it_keys_are_needed_or_a_word(host):
    with pytest.raises(SettingsError, match=r"--host: .* no keys.*--without-keys"):
        SidecarSettings(BUNDLE, host=host)
    assert SidecarSettings(BUNDLE, host=host, keys=("k",)).keys
    assert SidecarSettings(BUNDLE, host=host, without_keys=True).without_keys


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("port", 65536, "--port: expected 0 to 65535"),
        ("max_body", 10, "--max-body: expected 1024"),
        ("rate", -1.0, "--rate: expected 0"),
        ("rate", float("nan"), "--rate: expected 0"),
        ("queue", 0, "--queue: expected 1"),
        ("check_seconds", 0.0, "--check-seconds: expected 0.001"),
        ("log_bytes", 1, "--log-bytes: expected 4096"),
        ("log_text", True, "--log-text: expected a verdict log"),
        ("log_required", True, "--log-required: expected a verdict log"),
        ("tls_key", Path("key.pem"), "--tls-cert and --tls-key: expected both"),
    ],
)
def test_a_wrong_value_is_named(name, value, told):
    with pytest.raises(SettingsError, match=told):
        SidecarSettings(BUNDLE, **{name: value})


def test_tls_files_are_looked_for_at_once(tmp_path):
    with pytest.raises(SettingsError, match=r"--tls-cert: .*none.pem: can't be read"):
        SidecarSettings(BUNDLE, tls_certificate=tmp_path / "none.pem", tls_key=tmp_path / "k.pem")


def test_keys_are_not_shown():
    assert "secret" not in repr(SidecarSettings(BUNDLE, keys=("secret",)))


def test_allow_lists():
    found = allow_list(["a"], ["t"], ["AB" * 32])
    assert (found.agents, found.tools, found.hashes) == ({"a"}, {"t"}, {"ab" * 32})
    with pytest.raises(SettingsError, match="--allow-hash: expected a SHA-256"):
        allow_list(hashes=["ab"])
    with pytest.raises(SettingsError, match="--allow-tool: expected a name"):
        allow_list(tools=[" "])
