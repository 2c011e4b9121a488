"""Keys are read, compared and never told."""

import logging

import pytest

from fglguard.errors import SettingsError
from fglguard.sidecar.keys import VARIABLE, Keys, read_keys

ONE, OTHER = "first-key-of-this-test", "second.key~of_this/test=="


def test_one_a_line(tmp_path, caplog):
    path = tmp_path / "keys"
    path.touch(0o600)
    path.write_text(f"# people\n{ONE}\n\n  {OTHER}  \n{ONE}\n")
    assert read_keys(path, {}) == (ONE, OTHER)
    assert not caplog.records
    path.chmod(0o644)
    with caplog.at_level(logging.WARNING):
        assert read_keys(path, {})
    assert "others than its owner" in caplog.text
    assert ONE not in caplog.text


def test_of_the_environment():
    assert read_keys(None, {VARIABLE: f"{ONE}\n{OTHER}"}) == (ONE, OTHER)
    assert read_keys(None, {}) == ()
    # Set but empty is a slip that must not open the sidecar.
    with pytest.raises(SettingsError, match=f"{VARIABLE}: expected at least one key"):
        read_keys(None, {VARIABLE: ""})


@pytest.mark.parametrize(
    "line", ["short", "has a blank in its middle", 'quote"in-the-middle-of-it']
)
def test_what_can_be_no_key_is_refused_without_telling_it(tmp_path, line):
    path = tmp_path / "keys"
    path.write_text(f"{ONE}\n{line}\n")
    with pytest.raises(SettingsError, match=r"keys:2: expected a key of at least 16") as caught:
        read_keys(path, {})
    assert line not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"# none\n\n", b"\xff\xfe"])
def test_a_file_without_keys_is_refused(tmp_path, content):
    path = tmp_path / "keys"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match="keys"):
        read_keys(path, {})
    with pytest.raises(SettingsError, match="can't be read"):
        read_keys(tmp_path / "nothing", {})


def test_only_a_whole_key_counts():
    keys = Keys([ONE, OTHER])
    assert keys.number(f"Bearer {ONE}".encode()) == 0
    assert keys.number(f"bearer  {OTHER}".encode()) == 1
    wrong = [None, b"", b"Bearer", b"Bearer ", ONE.encode(), f"Basic {ONE}".encode()]
    wrong += [f"Bearer {ONE[:-1]}".encode(), f"Bearer {ONE}x".encode(), b"Bearer \xff\x00"]
    assert [keys.number(one) for one in wrong] == [None] * len(wrong)
