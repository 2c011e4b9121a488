import dataclasses
import shutil

import pytest
from omegaconf import OmegaConf

from fglguard.encoder import load_encoder
from fglguard.errors import SettingsError
from fglguard.graph import GraphSettings
from fglguard.settings import RunSettings
from fglguard.silo import Silo
from scripts.generate_flower_config import composed
from scripts.sweep.digest import outcome_digest
from scripts.sweep.point import folders_of, read_points, readable_name


@pytest.fixture
def settings(make_silo):
    values = {"corpus.path": str(make_silo().path), "corpus.encoder": "hashed-words"}
    return RunSettings.from_flat(composed("detector=paper", "privacy=none") | values)


def test_only_what_decides_the_outcome_is_in_the_digest(settings, tmp_path):
    digest = outcome_digest(settings)
    federation = dataclasses.replace(settings.federation, backend="ray", workers=7)
    tracking = dataclasses.replace(settings.tracking, tensorboard=True)
    same = dataclasses.replace(
        settings, output="x", resume="y", federation=federation, tracking=tracking
    )
    assert outcome_digest(same) == digest
    assert outcome_digest(dataclasses.replace(settings, seed=1)) != digest
    shutil.copytree(settings.corpus.path, tmp_path / "moved")
    corpus = dataclasses.replace(settings.corpus, path=str(tmp_path / "moved"))
    assert outcome_digest(dataclasses.replace(settings, corpus=corpus)) == digest


def test_the_silos_content_is_in_the_digest_and_other_windows_are_not(settings, make_episode):
    digest = outcome_digest(settings)
    silo = Silo.open(settings.corpus.path)
    silo.prepare(load_encoder("hashed-words"), GraphSettings(rounds=2))
    assert outcome_digest(settings) == digest
    Silo.create(silo.path, [make_episode(n, "a", n % 2 < 1) for n in range(20)], overwrite=True)
    assert outcome_digest(settings) != digest


def compose(values, **changes):
    tree = OmegaConf.create({"hydra": {"job": {"num": "???"}}})
    for key, value in (values | changes).items():
        OmegaConf.update(tree, key, value, force_add=True)
    return tree


def test_points_are_named_by_what_differs_between_them():
    points = read_points(
        [
            (
                ("strategy=fedprox", f"seed={n}"),
                compose(composed("detector=paper", "privacy=none"), seed=n),
            )
            for n in (0, 1)
        ]
    )
    assert [point.label for point in points] == [("seed=0",), ("seed=1",)]
    assert [point.settings.seed for point in points] == [0, 1]


def test_a_point_with_a_wrong_setting_has_that_as_its_problem():
    composed_points = [
        ((f"seed={n}",), compose(composed("detector=paper", "privacy=none"), seed=n))
        for n in (0, -1, "???")
    ]
    good, negative, missing = read_points(composed_points)
    assert good.problem is None
    assert "seed: expected at least 0" in negative.problem
    assert "seed: this setting has no default" in missing.problem


def test_a_sweep_over_folders_is_refused():
    both = [
        ((f"output={n}",), compose(composed("detector=paper", "privacy=none"), output=n))
        for n in "ab"
    ]
    with pytest.raises(SettingsError, match="output: expected one value"):
        read_points(both)


def test_names_hold_only_what_a_run_key_may():
    assert readable_name(["federation.clients=4", "seed=0"]) == "clients-4_seed-0"
    assert readable_name(["+a.b=[1, 'x/y']"]) == "b--1-x-y"
    assert readable_name(["output=/"]) == "output"


def test_a_folder_is_found_by_its_digest_whatever_its_name(settings, tmp_path):
    (point,) = read_points(
        [
            (
                ("seed=0",),
                compose(
                    composed("detector=paper", "privacy=none")
                    | {"corpus.path": settings.corpus.path, "corpus.encoder": "hashed-words"}
                ),
            )
        ]
    )
    (new,) = folders_of([point], tmp_path)
    assert new == tmp_path / f"seed-0-{outcome_digest(settings)}"
    other = tmp_path / f"another-name-{outcome_digest(settings)}"
    other.mkdir()
    same = dataclasses.replace(point, label=("federation.workers=7",))
    assert folders_of([same, point], tmp_path) == [other, other]
