import pytest

from client.instructions import read_instructions
from fglguard.errors import SettingsError
from fglguard.objectives.building import ObjectiveSettings

CONFIG = {
    "seed": 1,
    "round": 2,
    "index": 3,
    "run_folder": "/runs/a",
    "epochs": 2,
    "batch_size": 32,
    "learning_rate": 0.001,
    "weight_decay": 0,
    "optimizer": "sgd",
    "mu": 0.5,
}


def test_a_plain_message_has_no_objective_of_its_own():
    read = read_instructions(CONFIG)
    assert (read.seed, read.round, read.index, read.run_folder) == (1, 2, 3, "/runs/a")
    assert (read.training.proximal_mu, read.training.optimizer) == (0.5, "sgd")
    assert read.training.weight_decay == 0.0
    assert read.objective == ObjectiveSettings(kind="plain", temperature=1.0)
    assert not read.pooled


def test_steps_replace_epochs_where_they_are_given():
    assert read_instructions(CONFIG).training.steps == 0
    assert read_instructions({**CONFIG, "steps": 1}).training.steps_over(100) == 1


def test_a_strategys_objective_is_read():
    read = read_instructions({**CONFIG, "objective": "moon", "contrast": 2, "temperature": 0.25})
    assert read.objective == ObjectiveSettings(kind="moon", contrast=2.0, temperature=0.25)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"round": "2"}, "train message: round: expected int, got '2'"),
        ({"epochs": True}, "train message: epochs: expected int, got True"),
        ({"learning_rate": "fast"}, "train message: learning_rate: expected float, got 'fast'"),
        ({"mu": None}, "train message: mu: expected float, got nothing"),
        ({"pooled": 1}, "train message: pooled: expected bool, got 1"),
        ({"objective": "sam"}, "objective: expected one of plain"),
        ({"optimizer": "lion"}, "optimizer: expected adam or sgd"),
    ],
)
def test_what_is_wrong_is_named(change, message):
    with pytest.raises(SettingsError, match=message):
        read_instructions({**CONFIG, **change})
