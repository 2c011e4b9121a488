import tomllib
from pathlib import Path

from scripts.generate_flower_config import composed

ROOT = Path(__file__).resolve().parent.parent.parent


def test_flowers_copy_equals_conf():
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert document["tool"]["flwr"]["app"]["config"] == composed()
