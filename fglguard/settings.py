"""A run's settings: typed, checked values from a flat mapping of dotted keys.

Hydra composes the configuration from `conf/`, Flower carries it as flat scalars, and both enter
here. Every value is checked by name: what was expected, what came.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

from fglguard.bounds import Bounds, Count, NotNegative, Positive, Share, Whole
from fglguard.errors import SettingsError, suggestion
from fglguard.ray_settings import RaySettings
from fglguard.settings_together import check_together

Scalar = bool | int | float | str
Built = TypeVar("Built")

HIGHEST_RANK = 384
"""Of adapters: the encoder's width, where they could be any change of its weights."""


@dataclass(frozen=True)
class CorpusSettings:
    """Which episodes there are.

    Attributes:
        name: What the corpus is called in results.
        path: A silo, or a folder of silos; relative to the working directory.
        encoder: Which utterance encoder embeds the texts.
        domains: In a simulation, the domains to keep, with commas between them; empty: all.
        splits: In a simulation, a file of sides that replaces the silos' own splits
            (`fglguard.evaluation.protocol`); empty: none.
    """

    name: str
    path: str
    encoder: str
    domains: str
    splits: str


@dataclass(frozen=True)
class PartitionSettings:
    """Who holds what, in a simulation.

    Attributes:
        kind: `domain`: equally many clients a domain, each with equally many of its episodes.
            `iid`: every client a like share of everything.
            `label_skew`: half of the clients hold mostly safe episodes, half mostly unsafe ones.
            `dirichlet`: each label is dealt in proportions drawn from a Dirichlet distribution.
            `quantity`: clients of very unequal size. `natural`: one client a value of `key`.
        within_domains: Deal each domain to its own clients; otherwise all domains to all. Not used
            by `domain` (always within), `iid` (never) and `natural`.
        purity: `label_skew` only: share of a client's episodes that have its majority label.
        concentration: `dirichlet` only: small values deal unevenly.
        exponent: `quantity` only: client k's share is proportional to (k + 1)^-exponent.
        key: `natural` only: an attribute of episodes, such as `agent_model`.
    """

    kind: Literal["domain", "iid", "label_skew", "dirichlet", "quantity", "natural"]
    within_domains: bool
    purity: Annotated[float, Bounds(0.5, 1)]
    concentration: Positive
    exponent: NotNegative
    key: str


@dataclass(frozen=True)
class FederationSettings:
    """How the federation runs.

    Attributes:
        clients: Number of clients expected.
        rounds: Rounds of federated training.
        fraction: Share of the clients that a round of training needs, drawn anew each round.
        over_selection: So much more than needed is asked, as a share; the first to finish count.
        minimum_clients: Fewest usable replies in a phase; 0: every client that it needs.
        retries: How often a round with too few usable replies is tried again.
        connect_timeout: Seconds to wait for the clients to be there.
        timeout: Seconds to wait for the replies of one phase.
        roster: JSON file that binds each site to its domain; empty in a simulation.
        backend: Where a simulation runs its clients: in this process, in worker processes of its
            own, or on Ray.
        workers: Worker processes or Ray workers, each with one thread; a Ray cluster that runs has
            as many as it has processors.
        ray: The Ray cluster.
        checkpoints: How many of the newest are kept; 0: all.
    """

    clients: Count
    rounds: Count
    fraction: Annotated[float, Bounds(0, 1, above=True)]
    over_selection: NotNegative
    minimum_clients: Whole
    retries: Whole
    connect_timeout: Positive
    timeout: Positive
    roster: str
    backend: Literal["inprocess", "processes", "ray"]
    workers: Count
    ray: RaySettings
    checkpoints: Whole


@dataclass(frozen=True)
class FaultSettings:
    """What goes wrong in a simulation, drawn by seed, round and client. A real site ignores it.

    Attributes:
        dropout: Probability that a client does not answer in a round of training.
        straggler: Probability that a client is slow in a round of training.
        slowdown: How many times slower a straggler is.
        step_seconds: Simulated seconds that one optimizer step takes.
        deadline: Simulated seconds after which a round takes no more updates; 0: none.
        crash_round: Round in which client `crash_client` raises; 0: none.
        crash_client: Its number.
    """

    dropout: Share
    straggler: Share
    slowdown: Annotated[float, Bounds(1)]
    step_seconds: Positive
    deadline: NotNegative
    crash_round: Whole
    crash_client: Whole


@dataclass(frozen=True)
class StrategySettings:
    """How clients train and how their updates become the next global model.

    Attributes:
        name: The strategy.
        balanced: Weigh domains equally instead of clients by their size; FedAvg never does.
        mu: FedProx only: strength of the proximal term.
        drift: FedDC only: strength alpha of the drift penalty.
        contrast: MOON only: weight of the model-contrastive term.
        temperature: MOON and FGSSL: temperature of the similarities.
        distillation: FGSSL only: weight of the edge-distribution distillation term.
        aggregation: How updates of one domain are put together.
        trim: `trimmed_mean` only: share of the values left out at each end.
        norm_bound: A longer update is scaled down to this length; 0: no bound.
        epochs: Local epochs a round.
        steps: Exactly so many steps a round instead of `epochs`; 0: off; 1: FedSGD.
        batch_size: Graphs a step.
        learning_rate: Of the local optimizer.
        weight_decay: Of the local optimizer.
        optimizer: The local optimizer.
    """

    name: Literal["fedavg", "fedprox", "scaffold", "feddc", "moon", "fgssl", "pooled", "local"]
    balanced: bool
    mu: NotNegative
    drift: NotNegative
    contrast: NotNegative
    temperature: Positive
    distillation: NotNegative
    aggregation: Literal["mean", "median", "trimmed_mean"]
    trim: Annotated[float, Bounds(0, 0.49)]
    norm_bound: NotNegative
    epochs: Count
    steps: Whole
    batch_size: Count
    learning_rate: Positive
    weight_decay: NotNegative
    optimizer: Literal["adam", "sgd"]


@dataclass(frozen=True)
class DetectorSettings:
    """What scores an agent. Presets fix all of it; an ablation changes one thing.

    Attributes:
        preset: The detector.
        rounds: Last rounds of an episode that count, T; 0 for all.
        edge_feature: Graph attention: whose rounds the edge feature averages, or the messages
            sent along the edge.
        node_feature: Graph attention: an agent's utterances averaged, its last one, or both.
        self_loops: Graph attention: whether an agent attends to itself.
        residual: Graph attention: whether a layer adds a projection of its input.
        labels: Whether every agent of an episode trains with its label, or the readout alone.
        readout: What an episode's score is read from: its final agent, or the mean or largest
            logit of its agents.
        class_weight: `balanced` weighs both classes equally in the loss.
        encoder: Whether the utterance encoder stays as it is, or trains with the detector.
        encoder_layers: `finetune` only: the encoder's last layers that train; 0: all, its
            embeddings included.
        encoder_rank: `finetune` only: rank of the low-rank adapters that train in these layers'
            place, the layers' own weights frozen and not sent; 0: no adapters.
        encoder_tokens: `finetune` only: most tokens of a message that it reads.
    """

    preset: Literal["paper", "recommended", "small"]
    rounds: Whole
    edge_feature: Literal["receiver", "sender", "both", "message", "none"]
    node_feature: Literal["mean", "last", "mean_last"]
    self_loops: bool
    residual: bool
    labels: Literal["broadcast", "final"]
    readout: Literal["final", "mean", "max"]
    class_weight: Literal["none", "balanced"]
    encoder: Literal["frozen", "finetune"]
    encoder_layers: Annotated[int, Bounds(0, 6)]
    encoder_rank: Annotated[int, Bounds(0, HIGHEST_RANK)]
    encoder_tokens: Annotated[int, Bounds(8, 256)]


@dataclass(frozen=True)
class CalibrationSettings:
    """How the threshold is chosen.

    Attributes:
        rule: `plain` meets the budget on the calibration data; `conformal` in expectation over
            calibration data; `clopper_pearson` with probability 1 - `risk`.
        budget: Over-refusal budget rho: the largest share of safe episodes that may be blocked.
        risk: `clopper_pearson` only: delta, how likely the budget may be broken.
        by: What the rules take to be exchangeable: episodes, or groups of episodes of one task;
            `histogram` can't tell groups.
        thresholds: One pooled threshold, or one a domain with the pooled one as fallback.
        minimum_benign: Fewest benign episodes (or groups) for a threshold of a domain's own.
        scores: Whether sites return score-label pairs, or counts in a fixed histogram. A
            simulation tests on pairs in either case.
        bins: `histogram` only: its number of bins.
    """

    rule: Literal["plain", "conformal", "clopper_pearson"]
    budget: Share
    risk: Annotated[float, Bounds(0, 0.5, above=True)]
    by: Literal["episode", "group"]
    thresholds: Literal["pooled", "domain"]
    minimum_benign: Count
    scores: Literal["pairs", "histogram"]
    bins: Annotated[int, Bounds(2, 100_000)]


@dataclass(frozen=True)
class PrivacySettings:
    """What hides a client's update (`privacy.masks`).

    Attributes:
        name: Which parts of the model are masked, and how (`privacy.plans`).
        mode: `delta` masks what a client exports, once a round; `gradient` masks the gradient of
            every step, so that the local model never sees another.
        level: How much noise floods add (`privacy.levels`).
        exports: T, the number of exports of one and the same data that an attacker may average.
        kappa: Level `dp_scale` only: signal-to-noise ratio of the whole export.
        clip: Level `dp_scale` only: bound on the length of the whole export.
        kept: alpha, what an embedding's gradient is multiplied with, noise included; not at
            `dp_scale`.
        minimum_graphs: A client that trains on fewer exports nothing: in a small batch, an update
            is nearly a record.
    """

    name: Literal["none", "aegis", "aegis_extended"]
    mode: Literal["delta", "gradient"]
    level: Literal["edge", "bbp", "span", "dp_scale"]
    exports: Count
    kappa: Positive
    clip: Positive
    kept: Annotated[float, Bounds(0, 1, above=True)]
    minimum_graphs: Count


@dataclass(frozen=True)
class TrackingSettings:
    """Where figures go besides the run folder's `metrics.jsonl`.

    Attributes:
        tensorboard: Write TensorBoard events into the run folder.
        mlflow: Folder of an MLflow store, its database `mlflow.db`; empty: none.
    """

    tensorboard: bool
    mlflow: str


@dataclass(frozen=True)
class DeliverySettings:
    """What becomes of the guard at the end of a run over real sites.

    Attributes:
        signing_key: The host's private Ed25519 key, which signs the guard before it goes to each
            site that wants it; empty: it is neither signed nor sent.
    """

    signing_key: str


@dataclass(frozen=True)
class RunSettings:
    """Everything that determines a run's outcome.

    Attributes:
        seed: Same seed, same bits.
        output: Run folder; relative to the working directory; empty: runs/<date>_<time>.
        resume: Folder of an interrupted run to go on with, instead of `output`; empty: none.
    """

    seed: Annotated[int, Bounds(0, 2**32 - 1)]
    output: str
    resume: str
    corpus: CorpusSettings
    partition: PartitionSettings
    federation: FederationSettings
    faults: FaultSettings
    strategy: StrategySettings
    detector: DetectorSettings
    calibration: CalibrationSettings
    privacy: PrivacySettings
    delivery: DeliverySettings
    tracking: TrackingSettings

    @classmethod
    def from_flat(cls, values: Mapping[str, Any]) -> Self:
        """Check a flat mapping such as `{"seed": 0, "federation.rounds": 40, ...}`.

        Raises:
            SettingsError: A key is unknown or missing, or a value has the wrong type or lies out
                of range; the text names the key.
        """
        remaining = dict(values)
        settings = _build(cls, "", remaining)
        if remaining:
            key = sorted(remaining)[0]
            raise SettingsError(f"{key}: unknown setting{suggestion(key, values_of(settings))}")
        check_together(settings)
        return settings


def values_of(settings: Any, prefix: str = "") -> dict[str, Scalar]:
    """The flat mapping of dotted keys that `from_flat` takes."""
    flat: dict[str, Scalar] = {}
    for part in fields(settings):
        value = getattr(settings, part.name)
        key = prefix + part.name
        flat |= values_of(value, f"{key}.") if is_dataclass(value) else {key: value}
    return flat


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings to one flat mapping of dotted keys."""
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        key = f"{prefix}{name}"
        flat |= flatten(value, f"{key}.") if isinstance(value, Mapping) else {key: value}
    return flat


def _build(cls: type[Built], prefix: str, remaining: dict[str, Any]) -> Built:
    arguments = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        key = prefix + name
        if isinstance(hint, type) and is_dataclass(hint):
            arguments[name] = _build(hint, f"{key}.", remaining)
        elif key in remaining:
            arguments[name] = _checked(key, remaining.pop(key), hint)
        else:
            raise SettingsError(f"{key}: this setting is missing")
    return cls(**arguments)


_EXPECTED: Mapping[type, str] = MappingProxyType(
    {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
)


def _checked(key: str, value: Any, hint: Any) -> Any:
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        if value not in choices:
            raise SettingsError(f"{key}: expected one of {', '.join(choices)}, got {value!r}")
        return value
    expected, bounds = get_args(hint) if get_origin(hint) is Annotated else (hint, None)
    if expected is float and type(value) is int:
        value = float(value)
    if type(value) is not expected:
        raise SettingsError(f"{key}: expected {_EXPECTED[expected]}, got {value!r}")
    if bounds is not None and value not in bounds:
        raise SettingsError(f"{key}: expected {bounds}, got {value!r}")
    return value
