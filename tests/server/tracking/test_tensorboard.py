"""Event files of real runs, read back with TensorBoard's own reader."""

import math
import sys

import pytest

from fglguard.errors import FederationError, SettingsError
from scripts.hostile import hostile_app

pytestmark = pytest.mark.long


def events(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return EventAccumulator(str(folder / "tensorboard")).Reload()


def test_events_hold_what_the_folder_says(tracked_run, expected):
    """TensorBoard keeps scalars as float32."""
    folder = tracked_run(tracking__tensorboard=True)
    read = events(folder)
    for name, values in expected(folder).items():
        found = {event.step: event.value for event in read.Scalars(name)}
        assert found == pytest.approx(values, rel=1e-6), name


def test_settings_are_the_runs_hyperparameters(tracked_run):
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    folder = tracked_run(tracking__tensorboard=True, strategy__mu=0.125)
    contents = events(folder).PluginTagToContent("hparams")
    start = HParamsPluginData.FromString(contents["_hparams_/session_start_info"])
    hparams = start.session_start_info.hparams
    assert hparams["strategy.mu"].number_value == 0.125
    assert hparams["strategy.name"].string_value == "fedprox"
    assert "_hparams_/session_end_info" in contents


def test_a_failed_run_says_why(tracked_run, tmp_path):
    def no_loss(message, reply):
        reply.content["metrics"]["loss"] = math.nan

    app = hostile_app(None, no_loss)  # in a simulation no node config names a site
    with pytest.raises(FederationError):
        tracked_run(app, tracking__tensorboard=True)
    read = events(tmp_path / "run")
    (told,) = read.Tensors("error/text_summary")
    assert b"metrics.loss" in told.tensor_proto.string_val[0]


def test_a_missing_package_is_named_before_the_run_starts(tracked_run, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(SettingsError, match=r"tracking\.tensorboard.*fglguard\[tracking\]"):
        tracked_run(tracking__tensorboard=True)
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
