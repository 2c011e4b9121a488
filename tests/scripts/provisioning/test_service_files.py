import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from scripts.provisioning.service_files import systemd_path


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_systemd_takes_the_units(kits, tmp_path):
    kits.values["name"] = 'A "good" 100% \\ name'
    kits.values["sites"][0]["data"] = "a 100% silo"
    kits.make()
    for name, unit in (("host", "fglguard-superlink"), ("north", "fglguard-north")):
        text = (kits / name / f"{unit}.service").read_text()
        # It looks whether what is to be executed is there.
        placed = tmp_path / f"{unit}.service"
        placed.write_text(text.replace(f"/etc/fglguard/{name}", str(kits / name)))
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(placed)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert f"{unit}.service" not in done.stderr, done.stderr


def test_a_path_is_one_word_of_a_unit():
    assert systemd_path(Path('/a "b" 5% \\')) == '"/a \\"b\\" 5%% \\\\"'


def test_compose_mounts_the_silo_read_only_where_site_toml_expects_it(kits, tmp_path):
    kits.values["sites"][0]["data"] = "a ${HOME} silo"
    kits.make()
    (service,) = yaml.safe_load((kits / "north" / "compose.yaml").read_text())["services"].values()
    # Compose takes $$ for $ and replaces nothing in it.
    path = str(tmp_path / "a $${HOME} silo")
    assert {"type": "bind", "source": path, "target": path, "read_only": True} in service["volumes"]
    assert "ports" not in service
    (host,) = yaml.safe_load((kits / "host" / "compose.yaml").read_text())["services"].values()
    assert host["ports"] == ["18443:18443"]
