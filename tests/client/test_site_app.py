"""Everything that leaves a site stands in its log before, or it does not leave."""

import hashlib
import json
import os
import stat

import numpy as np
import pytest
from flwr.app import ConfigRecord, Context, Message, MessageType, RecordDict

from client.app import app
from fglguard.detector import detector_of
from fglguard.encoder import load_encoder
from fglguard.parameters import flatten
from fglguard.settings import RunSettings
from scripts.generate_flower_config import composed
from server.flower_internals import begin_run
from strategies.updates import PARAMETERS, pack_parameters


@pytest.fixture
def run_config():
    return composed("detector=paper", "privacy=none") | {"corpus.encoder": "hashed-words"}


@pytest.fixture
def site(make_silo, tmp_path, run_config):
    """A site with a log, and a way to ask it something."""

    class Site:
        def __init__(self):
            self.log, self.run = tmp_path / "sent.jsonl", begin_run()
            silo = make_silo(domains=("a",)).path
            self.node_config = {"site": "north", "data-path": str(silo), "sent-log": str(self.log)}

        def ask(self, kind, arrays=None, **config):
            content = RecordDict({"config": ConfigRecord(config)})
            if arrays is not None:
                content["arrays"] = arrays
            context = Context(self.run.run_id, 2, dict(self.node_config), RecordDict(), run_config)
            return app(Message(content, dst_node_id=2, message_type=kind), context)

        def query(self):
            fingerprint = load_encoder("hashed-words").fingerprint
            return self.ask(MessageType.QUERY, encoder_fingerprint=fingerprint)

        def lines(self):
            return [json.loads(line) for line in self.log.open()]

    return Site()


def test_a_reply_is_logged_with_its_records_sizes_and_hashes(site, run_config):
    """By hand: P float32 numbers and numpy's header of 128 bytes are the parameters' data."""
    settings = RunSettings.from_flat(run_config)
    dimension = load_encoder("hashed-words").dimension
    sent = flatten(detector_of(settings.detector, dimension, seed=0))
    strategy = settings.strategy
    reply = site.ask(
        MessageType.TRAIN,
        pack_parameters(sent),
        **{"seed": 0, "round": 7, "index": 0, "attempt": 0, "mu": 0.0, "epochs": 1},
        batch_size=strategy.batch_size,
        learning_rate=0.1,
        weight_decay=0.0,
        optimizer="sgd",
    )
    (line,) = site.lines()
    assert (line["round"], line["type"], line["run"]) == (7, "train", site.run.run_id)
    told = {record["name"]: record for record in line["records"]}
    assert set(told) == {"arrays", "metrics", "site"}
    assert told["arrays"]["arrays"] == [
        {"name": PARAMETERS, "dtype": "float32", "shape": [len(sent)], "numbers": len(sent)}
    ]
    data = reply.content["arrays"][PARAMETERS].data
    assert len(data) == 4 * len(sent) + 128
    assert len(data) < told["arrays"]["bytes"] < 1.05 * 4 * len(sent)
    assert told["arrays"]["sha256"] == hashlib.sha256(reply.content["arrays"].deflate()).hexdigest()
    assert told["metrics"]["values"] == dict(reply.content["metrics"])
    assert line["bytes"] > sum(record["bytes"] for record in line["records"])
    assert len(data) < line["received"] < 1.05 * 4 * len(sent)


def test_the_hash_of_the_record_tells_of_every_number(site):
    def hash_of(vector):
        record = pack_parameters(vector)
        return record.object_id

    vector = np.zeros(9, dtype=np.float32)
    other = vector.copy()
    other[4] = np.finfo(np.float32).tiny
    assert hash_of(vector) != hash_of(other)


def test_only_the_owner_can_read_it_and_lines_are_added(site):
    site.query()
    site.log.chmod(0o644)
    site.query()
    assert stat.S_IMODE(site.log.stat().st_mode) == 0o600
    assert [line["type"] for line in site.lines()] == ["query", "query"]


def test_an_error_is_logged_too(site):
    reply = site.ask(MessageType.QUERY, encoder_fingerprint="another")
    (line,) = site.lines()
    assert line["error"]["reason"] == reply.error.reason
    assert "the run wants another" in line["error"]["reason"]
    assert line["records"] == []
    assert line["bytes"] > len(reply.error.reason)


def test_a_message_that_no_handler_is_there_for_is_logged_too(site):
    reply = site.ask("train.unheard_of")
    (line,) = site.lines()
    assert reply.has_error()
    assert (line["type"], line["error"]["reason"]) == ("train.unheard_of", reply.error.reason)


def test_nothing_leaves_if_the_log_cannot_be_written(site, tmp_path):
    site.node_config["sent-log"] = str(tmp_path / "no" / "such" / "folder.jsonl")
    reply = site.query()
    assert not reply.has_content()
    assert reply.error.reason.startswith("site north: OutputError: ")
    assert f"{tmp_path}/no/such/folder.jsonl, can't be written" in reply.error.reason


def test_nothing_leaves_if_the_disk_is_full(site):
    """/dev/full takes no byte; the kernel says so as it would of a full disk."""
    site.node_config["sent-log"] = "/dev/full"
    reply = site.query()
    assert not reply.has_content()
    assert "/dev/full, can't be written (No space left on device)" in reply.error.reason


def test_a_line_of_which_a_part_fits_is_taken_back(site, monkeypatch):
    """What the kernel does where the disk fills up within a line."""
    site.query()
    before = site.log.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:40]))
    assert not site.query().has_content()
    assert site.log.read_bytes() == before


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [("sent_log", "/tmp/x", "expected the key sent-log"), ("sent-log", "x", "an absolute path")],
)
def test_a_log_that_would_not_be_there_is_refused(site, key, value, told):
    del site.node_config["sent-log"]
    site.node_config[key] = value
    assert told in site.query().error.reason


def test_without_one_nothing_is_written(site):
    del site.node_config["sent-log"]
    assert site.query().has_content()
    assert not site.log.exists()
