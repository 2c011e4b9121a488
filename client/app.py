"""The Flower ClientApp: query, train, evaluate."""

import numpy as np
import torch
from flwr.app import (
    Array,
    ArrayRecord,
    ConfigRecord,
    Context,
    Message,
    MetricRecord,
    RecordDict,
)
from flwr.clientapp import ClientApp

import fglguard
from client.failure import report_failure
from client.faults import inject_faults
from client.holdings import Holdings
from client.identity import holdings_of, run_settings
from fglguard.corpora.splits import SPLITS
from fglguard.detector import Detector, build_detector
from fglguard.episode import SCHEMA
from fglguard.errors import EncoderError
from fglguard.parameters import flatten, load_flat
from fglguard.settings import RunSettings
from fglguard.training import TrainingSettings, score_graphs, train_locally
from strategies.updates import pack_parameters, unpack_parameters

# Two threads a worker on few cores spin against each other: seven times the CPU time.
torch.set_num_threads(1)

app = ClientApp()


@app.query()
@report_failure
def query(message: Message, context: Context) -> Message:
    """Say who this is and how much it holds; no figure here depends on any one text."""
    settings = run_settings(context)
    holdings = holdings_of(context, settings)
    _require_encoder(holdings, message.content["config"])
    label = np.asarray(holdings.packed.label)
    counts: dict[str, int] = {}
    for split in SPLITS:
        rows = holdings.indices(split)
        counts[f"{split}_graphs"] = len(rows)
        counts[f"{split}_unsafe"] = int(np.count_nonzero(label[rows] == 1))
    site = ConfigRecord(
        {
            "site": holdings.site,
            "domain": holdings.domain,
            "schema": SCHEMA,
            "encoder_fingerprint": holdings.encoder_fingerprint,
            "version": fglguard.__version__,
        }
    )
    content = RecordDict({"site": site, "metrics": MetricRecord(counts)})
    return Message(content, reply_to=message)


@app.train()
@report_failure
@inject_faults
def train(message: Message, context: Context) -> Message:
    """Train from the global model on the site's training split; return the new parameters."""
    settings = run_settings(context)
    holdings = holdings_of(context, settings)
    config = message.content["config"]
    detector = _detector(holdings, settings, message)
    report = train_locally(
        detector,
        holdings.packed,
        holdings.indices("train"),
        TrainingSettings(
            epochs=int(config["epochs"]),
            batch_size=int(config["batch_size"]),
            learning_rate=float(config["learning_rate"]),
            optimizer=config["optimizer"],
            weight_decay=float(config["weight_decay"]),
            proximal_mu=float(config["mu"]),
        ),
        seed=(int(config["seed"]), int(config["round"]), int(config["index"])),
    )
    metrics = MetricRecord(
        {
            "nodes": report.nodes,
            "graphs": report.graphs,
            "steps": report.steps,
            "loss": report.loss,
            "proximal": report.proximal,
            "update_norm": report.update_norm,
        }
    )
    content = RecordDict(
        {
            "arrays": pack_parameters(flatten(detector)),
            "metrics": metrics,
            "site": ConfigRecord({"site": holdings.site}),
        }
    )
    return Message(content, reply_to=message)


@app.evaluate()
@report_failure
def evaluate(message: Message, context: Context) -> Message:
    """Score one split with the global model; return scores, labels and opaque group numbers."""
    settings = run_settings(context)
    holdings = holdings_of(context, settings)
    rows = holdings.indices(str(message.content["config"]["split"]))
    scores = score_graphs(_detector(holdings, settings, message), holdings.packed, rows)
    pairs = ArrayRecord(
        {
            "raw": Array(scores.raw),
            "corroborated": Array(scores.corroborated),
            "label": Array(np.asarray(holdings.packed.label[rows])),
            "group": Array(holdings.group[rows]),
            "clean": Array(holdings.clean[rows]),
            "domain": Array(holdings.domain_of[rows]),
        }
    )
    site = ConfigRecord({"site": holdings.site, "domains": list(holdings.domains)})
    metrics = MetricRecord({"graphs": len(rows)})
    content = RecordDict({"scores": pairs, "metrics": metrics, "site": site})
    return Message(content, reply_to=message)


def _detector(holdings: Holdings, settings: RunSettings, message: Message) -> Detector:
    dimension = holdings.packed.x.shape[1]
    detector = build_detector(settings.detector.preset, dimension, seed=0)
    load_flat(detector, unpack_parameters(message.content["arrays"]), "the global model")
    return detector


def _require_encoder(holdings: Holdings, config: ConfigRecord) -> None:
    wanted = config["encoder_fingerprint"]
    if holdings.encoder_fingerprint != wanted:
        raise EncoderError(
            f"site {holdings.site}: its texts are embedded with the encoder "
            f"{holdings.encoder_fingerprint}, the run wants {wanted}"
        )
