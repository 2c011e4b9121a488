"""The Flower ClientApp: query, train, evaluate."""

import dataclasses
import logging

import numpy as np
import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from numpy.typing import NDArray

import fglguard
from client.branch_sums import sums_to_return
from client.delivery import keep_guard, wants_guard
from client.failure import report_failure
from client.faults import inject_faults
from client.holdings import Holdings
from client.identity import holdings_of, is_simulated, pooled_holdings_of, run_settings
from client.instructions import read_instructions
from client.masking import check_floor, looks_of, report_of, update_mask
from client.naming import naming_site
from client.same_silo import remember_silo, require_same_silo
from client.scores import scores_to_return
from client.site_app import SiteApp
from client.state import ClientState, state_of
from fglguard.corpora.splits import SPLITS
from fglguard.detector import Detector, detector_of
from fglguard.episode_rules import SCHEMA
from fglguard.errors import EncoderError, PrivacyError, StateError
from fglguard.fusion import branch_sums
from fglguard.objectives.building import ObjectiveSettings, build_objective
from fglguard.objectives.control_variates import CONTROL
from fglguard.parameters import flatten, load_flat
from fglguard.settings import RunSettings
from fglguard.training import score_graphs, train_locally
from strategies.updates import (
    PARAMETERS,
    FlatVector,
    pack_parameters,
    unpack_parameters,
    unpack_vectors,
)

# Two threads a worker on few cores spin against each other: seven times the CPU time.
torch.set_num_threads(1)

logger = logging.getLogger("fglguard")

app = SiteApp()


@app.query()
@report_failure
def query(message: Message, context: Context) -> Message:
    """Say who this is and how much it holds; no figure here depends on any one text."""
    settings = run_settings(context)
    check_floor(context, settings)
    holdings = holdings_of(context, settings)
    _require_encoder(holdings, message.content["config"])
    remember_silo(context)
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
            "wants_guard": wants_guard(context),
        }
    )
    content = RecordDict({"site": site, "metrics": MetricRecord(counts)})
    return Message(content, reply_to=message)


@app.train()
@report_failure
@inject_faults
def train(message: Message, context: Context) -> Message:
    """Train from the global model under the strategy's objective; return the new parameters."""
    settings = run_settings(context)
    check_floor(context, settings)
    require_same_silo(context)
    holdings = holdings_of(context, settings)
    with naming_site(holdings.site):
        content = _train(message, context, settings, holdings)
    content["site"] = ConfigRecord({"site": holdings.site})
    return Message(content, reply_to=message)


@app.evaluate()
@report_failure
def evaluate(message: Message, context: Context) -> Message:
    """Score one split with the global model; return score-label pairs or counts of scores.

    Raises:
        PrivacyError: Scores of training episodes were asked for: they tell who is among them.
    """
    settings = run_settings(context)
    check_floor(context, settings)
    require_same_silo(context)
    holdings = holdings_of(context, settings)
    split = str(message.content["config"]["split"])
    if split == "train":
        raise PrivacyError(f"site {holdings.site}: scores of training episodes never leave it")
    rows = holdings.indices(split)
    detector = _detector(holdings, settings, unpack_parameters(message.content["arrays"]))
    if message.content["config"].get("branches"):
        answer = sums_to_return(branch_sums(detector, holdings.packed, rows))
        return _answer(message, answer, holdings, rows)
    scores = score_graphs(detector, holdings.packed, rows)
    with naming_site(holdings.site):
        answer = scores_to_return(
            scores, holdings, rows, split, settings.calibration, simulated=is_simulated(context)
        )
    return _answer(message, answer, holdings, rows)


@app.query("guard")
@report_failure
def receive_guard(message: Message, context: Context) -> Message:
    """Keep the guard that the host sends at the end of a run, if its signature holds."""
    with naming_site(str(context.node_config.get("site", ""))):
        digest = keep_guard(message, context)
    return Message(RecordDict({"guard": ConfigRecord({"sha256": digest})}), reply_to=message)


def _answer(
    message: Message,
    answer: dict[str, ArrayRecord],
    holdings: Holdings,
    rows: NDArray[np.int64],
) -> Message:
    site = ConfigRecord({"site": holdings.site, "domains": list(holdings.domains)})
    metrics = MetricRecord({"graphs": len(rows)})
    return Message(RecordDict({**answer, "metrics": metrics, "site": site}), reply_to=message)


def _train(
    message: Message, context: Context, settings: RunSettings, holdings: Holdings
) -> RecordDict:
    instructions = read_instructions(message.content["config"])
    objective = instructions.objective
    training = dataclasses.replace(
        instructions.training,
        labels=settings.detector.labels,
        class_weight=settings.detector.class_weight,
    )
    received = unpack_vectors(message.content["arrays"], objective.received)
    parameters = received.pop(PARAMETERS)
    detector = _detector(holdings, settings, parameters)
    if instructions.pooled:
        holdings, counts = pooled_holdings_of(context, settings)
        steps = sum(training.steps_over(count) for count in counts)
        training = dataclasses.replace(training, steps=steps)
    state = None
    if objective.kept:
        state = state_of(context, instructions.run_folder, holdings.site)
    kept = {} if state is None else state.load(instructions.since)
    if state is not None and instructions.since and not kept:
        _tell_lost_state(objective, state, instructions.since)
    local = build_objective(objective, parameters, received, kept)
    rows = holdings.indices("train")
    mask = update_mask(
        detector,
        settings.privacy,
        instructions,
        looks=looks_of(settings.privacy, local, training.steps_over(len(rows))),
        simulated=is_simulated(context),
    )
    report = train_locally(
        detector,
        holdings.packed,
        rows,
        training,
        seed=(instructions.seed, instructions.round, instructions.index),
        objective=local,
        mask=mask.gradients,
    )
    mask.require_enough(report.graphs)
    idle = training.idle_share(report.steps)
    exported = mask.update(parameters, flatten(detector), idle, report.steps)
    outcome = local.finish(detector, exported, mask.change)
    if state is not None:
        state.save(instructions.round, outcome.state, instructions.since)
    arrays = pack_parameters(exported, outcome.exports)
    metrics = MetricRecord(report_of(report, mask, settings.privacy))
    return RecordDict({"arrays": arrays, "metrics": metrics})


def _tell_lost_state(objective: ObjectiveSettings, state: ClientState, since: int) -> None:
    """A control variate that starts anew would part from the server's; another model is worse."""
    told = f"what was kept in round {since} is not in {state.folder}"
    if CONTROL in objective.kept:
        raise StateError(f"{told}: restore it, or take no further part in this run")
    logger.warning("%s: training goes on as in a first round", told)


def _detector(holdings: Holdings, settings: RunSettings, parameters: FlatVector) -> Detector:
    detector = detector_of(settings.detector, holdings.packed.dimension, seed=0)
    load_flat(detector, parameters, "the global model")
    return detector


def _require_encoder(holdings: Holdings, config: ConfigRecord) -> None:
    wanted = config["encoder_fingerprint"]
    if holdings.encoder_fingerprint != wanted:
        raise EncoderError(
            f"site {holdings.site}: its texts are embedded with the encoder "
            f"{holdings.encoder_fingerprint}, the run wants {wanted}"
        )
