import shutil
import stat

import pytest

from fglguard.bundle import load_bundle
from fglguard.corpora.splits import SPLITS
from fglguard.errors import BundleError, ReportError, SiloError
from fglguard.evaluation.report.run_record import RunRecord
from fglguard.evaluation.report.silos import silos_of_run
from fglguard.evaluation.report.writing import write_report
from fglguard.silo import Silo


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_runs_own_report_has_a_viewer_and_no_text(run_folder, canaries):
    page = (run_folder / "report.html").read_text()
    assert "Episodes worth a look" in page
    assert "agent 1" in page and "episode 1" in page
    assert not any(canary in page for canary in canaries)


def test_a_page_with_text_is_for_its_owner_alone_and_escapes_it(
    run_folder, silo, tmp_path, canaries
):
    output = tmp_path / "page.html"
    write_report(run_folder, output, silos=[silo], with_text=True)
    page = output.read_text()
    assert mode(output) == 0o600
    assert all(canary in page for canary in canaries)
    assert "This page holds what agents said." in page
    assert "&lt;script&gt;alert(&#39;said&#39;)&lt;/script&gt;" in page
    assert "<script" not in page


def test_a_shared_page_has_no_text(run_folder, silo, tmp_path, canaries):
    output = tmp_path / "page.html"
    write_report(run_folder, output, silos=[silo], with_text=False)
    page = output.read_text()
    assert mode(output) == 0o644
    assert "Communication graph of episode 1" in page
    assert not any(canary in page for canary in canaries)


def test_the_same_run_gives_the_same_page(run_folder, silo, tmp_path):
    """What the run wrote at its end and what is made of its folder later, byte for byte."""
    output = tmp_path / "page.html"
    write_report(run_folder, output, silos=[silo], with_text=False)
    assert output.read_bytes() == (run_folder / "report.html").read_bytes()


def test_text_never_goes_into_the_report_that_may_leave(run_folder, silo, tmp_path):
    before = (run_folder / "report.html").read_bytes()
    link = tmp_path / "link.html"
    link.symlink_to(run_folder / "report.html")
    for output in (run_folder / "report.html", run_folder / "guard/../report.html", link):
        with pytest.raises(ReportError, match="the report that may leave the site"):
            write_report(run_folder, output, silos=[silo], with_text=True)
    assert (run_folder / "report.html").read_bytes() == before


def test_an_incomplete_folder_is_told_by_its_missing_file(run_folder, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run_folder, folder)
    (folder / "results.json").write_text("{")
    with pytest.raises(ReportError, match=r"results\.json: expected JSON, got damage"):
        write_report(folder, tmp_path / "page.html")
    (folder / "results.json").write_text("[]")
    with pytest.raises(ReportError, match=r"results\.json: expected a JSON object, got list"):
        write_report(folder, tmp_path / "page.html")
    (folder / "results.json").unlink()
    with pytest.raises(ReportError, match=r"results\.json: can't be read .* completed run"):
        write_report(folder, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_changed_guard_and_an_unprepared_silo_are_errors(
    run_folder, silo, tmp_path, make_episode
):
    folder = tmp_path / "run"
    shutil.copytree(run_folder, folder)
    bare = Silo.create(tmp_path / "bare", [make_episode(n, "d", n % 2 == 0) for n in range(20)])
    with pytest.raises(SiloError, match="fglguard corpus embed"):
        write_report(folder, tmp_path / "page.html", silos=[bare])
    with (folder / "guard/model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")
    with pytest.raises(BundleError, match="changed since it was saved"):
        write_report(folder, tmp_path / "page.html", silos=[silo])


def test_a_run_with_a_guard_a_client_needs_one_named(simulate_run, silo, tmp_path):
    folder = simulate_run(
        silo, tmp_path / "local", **{"strategy.name": "local", "federation.rounds": 1}
    )
    assert "4 thresholds, a client each" in (folder / "report.html").read_text()
    with pytest.raises(ReportError, match=r"no one guard .* guards/"):
        write_report(folder, tmp_path / "page.html", silos=[silo])
    guard = sorted((folder / "guards").iterdir())[0]
    assert load_bundle(guard)
    write_report(folder, tmp_path / "page.html", silos=[silo], guard=guard)
    assert "Episodes worth a look" in (tmp_path / "page.html").read_text()


def test_a_simulations_domains_hold_for_its_silos_too(simulate_run, silo, tmp_path):
    domain = silo.domains[0]
    changes = {"corpus.domains": domain, "federation.clients": 2, "federation.rounds": 1}
    folder = simulate_run(silo, tmp_path / "one", **changes)
    assert RunRecord.read(folder).domains == [domain]
    (seen,) = silos_of_run(folder, silo.path)
    assert seen.domains == (domain,)
    tests = (seen.split == SPLITS.index("test")).sum()
    assert 0 < tests < (silo.split == SPLITS.index("test")).sum()
