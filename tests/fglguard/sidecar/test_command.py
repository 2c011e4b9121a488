"""`fglguard serve` says what is wrong with its options before anything is loaded."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from fglguard.cli import app

runner = CliRunner()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--host", "0.0.0.0"], "--host: '0.0.0.0' can be reached from other machines"),
        (["--keys", "nothing"], "--keys: nothing: can't be read"),
        (["--tls-cert", "c.pem"], "--tls-cert and --tls-key: expected both"),
        (["--allow-hash", "abc"], "--allow-hash: expected a SHA-256"),
        (["--queue", "0"], "--queue: expected 1 to 100000, got 0"),
        (["--signed-by", "nothing.pub"], "nothing.pub: the public key can't be read"),
        (["--log-text"], "--log-text: expected a verdict log"),
        (["--mode", "off"], "'off' is not one of 'enforce', 'shadow'"),
        (["--log", "no/such/folder/v"], "expected a guard's folder"),
    ],
)
def test_a_wrong_option_is_told(tmp_path, options, told, monkeypatch):
    monkeypatch.delenv("FGLGUARD_KEYS", raising=False)
    done = runner.invoke(app, ["serve", str(tmp_path / "none"), *options])
    assert done.exit_code == 2
    assert told in " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.long
def test_without_its_packages_it_names_the_extra(bundle):
    code = (
        "import sys, importlib.abc\n"
        "class Missing(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('fastapi', 'uvicorn', 'prometheus_client'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "sys.argv = ['fglguard', 'serve', sys.argv[1]]\n"
        "from fglguard.cli import app\n"
        "app()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(bundle)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'fglguard[serve]'" in done.stderr
    assert "fastapi" in done.stderr
