"""The command on run folders that real runs left."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from client.app import app as client_app
from fglguard.encoder import load_encoder
from fglguard.errors import FederationError
from fglguard.graph import GraphSettings
from fglguard.silo import Silo
from scripts.collect import main
from scripts.generate_flower_config import composed
from server.app import app as server_app
from server.inprocess import simulate

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def sweep(tmp_path_factory, make_episode):
    """Two strategies, two seeds, one round each; and a run that failed."""
    root = tmp_path_factory.mktemp("collect")
    episodes = [
        make_episode(number, domain, unsafe=number % 4 < 2)
        for domain in "ab"
        for number in range(40)
    ]
    silo = Silo.create(root / "silo", episodes)
    silo.prepare(load_encoder("hashed-words"), GraphSettings())
    base = composed("detector=paper", "privacy=none") | {
        "corpus.name": "silos",
        "corpus.path": str(silo.path),
        "corpus.encoder": "hashed-words",
        "federation.clients": 4,
        "federation.rounds": 1,
    }
    for name, mu in (("fedavg", 0.0), ("fedprox", 0.01)):
        for seed in (0, 1):
            output = str(root / "sweep" / f"{name}-{seed}")
            run = {"strategy.name": name, "strategy.mu": mu, "seed": seed, "output": output}
            simulate(server_app, client_app, base | run)
    with pytest.raises(FederationError):
        output = str(root / "sweep" / "failed")
        crowd = [{"partition-id": 0, "num-partitions": 4}]
        wrong = {"federation.connect_timeout": 0.1, "output": output}
        simulate(server_app, client_app, base | wrong, crowd)
    return root / "sweep"


@pytest.fixture
def collected(sweep, tmp_path, capsys):
    def run(*arguments):
        code = main([str(sweep), "-o", str(tmp_path / "tables"), *arguments])
        return code, tmp_path / "tables", capsys.readouterr()

    return run


def test_a_row_a_run_and_domain_with_the_runs_own_figures(sweep, collected):
    code, tables, _ = collected()
    assert code == 0
    frame = pl.read_parquet(tables / "runs.parquet")
    done = frame.filter(pl.col("state") == "completed")
    assert done.height == 4 * 4
    assert set(done["domain"]) == {"a", "b", "pooled", "mean"}
    row = done.filter(
        (pl.col("strategy") == "fedprox") & (pl.col("seed") == 1) & (pl.col("domain") == "a")
    ).row(0, named=True)
    results = json.loads((sweep / "fedprox-1" / "results.json").read_text())
    auroc = results["test"]["domains"]["a"]["auroc_raw"]
    assert row["auroc_raw"] == auroc["value"]
    assert (row["auroc_raw_low"], row["auroc_raw_high"]) == (auroc["low"], auroc["high"])
    assert row["floor_tfidf"] == results["floors"]["tfidf"]["domains"]["a"]
    assert row["threshold"] == results["calibration"]["threshold"]
    assert row["strategy.mu"] == 0.01
    mean = done.filter((pl.col("folder").str.contains("fedavg-0")) & (pl.col("domain") == "mean"))
    results = json.loads((sweep / "fedavg-0" / "results.json").read_text())
    assert mean["auroc_raw"].item() == results["test"]["mean_auroc_raw"]
    recalls = [one["recall"]["value"] for one in results["test"]["domains"].values()]
    assert mean["recall"].item() == pytest.approx(sum(recalls) / 2)


def test_all_three_files_say_the_same(collected):
    _, tables, _ = collected()
    parquet = pl.read_parquet(tables / "runs.parquet")
    csv = pl.read_csv(tables / "runs.csv", schema=parquet.schema)
    assert csv.equals(parquet)
    page = (tables / "runs.md").read_text()
    runs = page.partition("# Runs")[2]
    assert sum(line.startswith("|") for line in runs.splitlines()) == parquet.height + 2
    assert "±" in page.partition("# Runs")[0]


def test_a_failed_run_has_a_row_and_is_told(collected):
    _, tables, said = collected()
    failed = pl.read_csv(tables / "runs.csv").filter(pl.col("state") == "failed")
    assert failed.height == 1
    assert failed["auroc_raw"].item() is None
    assert "failed, without figures" in said.err
    assert "4 completed runs, 1 failed, 0 folders skipped" in said.err


def test_plots_are_drawn_for_each_figure(collected):
    _, tables, _ = collected("--figures", "auroc_raw", "recall")
    names = {path.name for path in tables.iterdir() if path.suffix in (".svg", ".png")}
    assert names == {
        f"{figure}-mean-over-strategy.{kind}"
        for figure in ("auroc_raw", "recall")
        for kind in ("svg", "png")
    }
    text = (tables / "auroc_raw-mean-over-strategy.svg").read_text()
    assert "means over 2 seeds, bars: 95 % t-intervals" in text
    assert "best text floor" in text


def truncate(folder: Path) -> None:
    path = folder / "results.json"
    path.write_bytes(path.read_bytes()[:100])


def forget(folder: Path) -> None:
    (folder / "config.json").unlink()


def still_run(folder: Path) -> None:
    (folder / "status.json").write_text('{"state": "running", "pid": 1}')


def other_shape(folder: Path) -> None:
    (folder / "results.json").write_text('{"test": {"domains": {"a": {}}}}')


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (truncate, "results.json: damaged, expected JSON"),
        (forget, "config.json: the file is missing"),
        (still_run, "the run has not ended"),
        (other_shape, "results.json: damaged (KeyError"),
    ],
)
def test_a_damaged_folder_is_told_and_left_out(sweep, tmp_path, capsys, damage, told):
    shutil.copytree(sweep, tmp_path / "sweep")
    damage(tmp_path / "sweep" / "fedavg-1")
    assert main([str(tmp_path / "sweep"), "-o", str(tmp_path / "tables")]) == 0
    said = capsys.readouterr().err
    assert told in said
    assert "3 completed runs, 1 failed, 1 folders skipped" in said
    folders = set(pl.read_csv(tmp_path / "tables" / "runs.csv")["folder"])
    assert not any("fedavg-1" in folder for folder in folders)


def test_nothing_to_collect_is_an_error(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    assert "no run that can be read" in capsys.readouterr().err
    assert main([str(tmp_path / "nowhere")]) == 2
    assert "expected a folder" in capsys.readouterr().err
