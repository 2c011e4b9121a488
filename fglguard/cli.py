"""The `fglguard` command."""

import json
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer
from rich.console import Console

from fglguard.calibration import By, Rule
from fglguard.corpora import corpus
from fglguard.encoder import ENCODERS, Encoder, load_encoder
from fglguard.episode import Problem, read_episodes
from fglguard.errors import (
    CorpusError,
    EncoderError,
    EpisodeError,
    FglguardError,
    SettingsError,
    SiloError,
    suggestion,
)
from fglguard.files import require_folder_of, write_atomically
from fglguard.graph import PRESET_FEATURES, GraphSettings, NodeFeature
from fglguard.sidecar.command import serve
from fglguard.silo import Silo
from fglguard.silo.manifest import MANIFEST
from fglguard.silo_report import print_silo

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
corpus_app = typer.Typer(no_args_is_help=True, help="Make silos and look into them.")
app.add_typer(corpus_app, name="corpus")

SiloOption = Annotated[Path, typer.Option("-o", "--output", help="The silo to make.")]
EncoderOption = Annotated[
    str, typer.Option(help=f"Embed the texts as well: {', '.join(ENCODERS)}, or none.")
]
RoundsOption = Annotated[
    int, typer.Option(min=0, help="Last rounds that count in a graph; 0 for all.")
]
SeedOption = Annotated[int, typer.Option(help="Seed of the splits.")]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace a silo there is.")]

PROBLEMS_SHOWN = 5

console = Console(stderr=True, markup=False)


def _reported(command: Callable[..., None]) -> Callable[..., None]:
    """Say an error of ours in one line, and exit with 2."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except (FglguardError, OSError) as error:  # OSError: a full disk, no permission, ...
            print(f"error: {error}", file=sys.stderr)
            raise typer.Exit(2) from None

    return run


@corpus_app.command("import")
@_reported
def import_corpus(
    format_name: Annotated[str, typer.Argument(metavar="FORMAT", help="The source's format.")],
    path: Annotated[Path, typer.Argument(help="A file or a folder in that format.")],
    output: SiloOption,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first problem.")] = False,
    domain: Annotated[str | None, typer.Option(help="The episodes' domain.")] = None,
    seed: SeedOption = 0,
    encoder: EncoderOption = "none",
    overwrite: OverwriteOption = False,
) -> None:
    """Import labelled episodes into a silo; records that can't be read are skipped and counted."""
    _require_free(output, overwrite)
    chosen = _encoder(encoder)
    problems: list[Problem] = []
    source = corpus(format_name)
    episodes = source.read(path, domain=domain, problems=problems, strict=strict)
    silo = Silo.create(output, episodes, seed=seed, overwrite=overwrite)
    _report_problems(problems)
    _embed(silo, chosen)
    print_silo(silo)


@corpus_app.command("replay")
@_reported
def replay_corpus(
    benchmark: Annotated[str, typer.Argument(help="Only agentdojo.")],
    output: SiloOption,
    seed: SeedOption = 0,
    encoder: EncoderOption = "none",
    overwrite: OverwriteOption = False,
) -> None:
    """Play a benchmark's own solutions and attacks offline, without a language model."""
    if benchmark != "agentdojo":
        raise CorpusError(f"replay: expected agentdojo, got {benchmark!r}")
    _require_free(output, overwrite)
    chosen = _encoder(encoder)
    from fglguard.corpora.replay import generate

    silo = Silo.create(output, generate(seed, progress=True), seed=seed, overwrite=overwrite)
    _embed(silo, chosen)
    print_silo(silo)


@corpus_app.command("show")
@_reported
def show_corpus(path: Annotated[Path, typer.Argument(metavar="SILO")]) -> None:
    """Show a silo's counts, labels, agents, rounds, lengths and splits."""
    print_silo(Silo.open(path))


@corpus_app.command("embed")
@_reported
def embed_corpus(
    path: Annotated[Path, typer.Argument(metavar="SILO")],
    encoder: Annotated[str, typer.Option(help=f"One of {', '.join(ENCODERS)}.")] = "minilm",
    rounds: RoundsOption = GraphSettings().rounds,
    node_feature: Annotated[
        NodeFeature, typer.Option(help="detector.node_feature of the runs that will use the silo.")
    ] = GraphSettings().node_feature,
    messages: Annotated[
        bool, typer.Option("--messages", help="For detector.edge_feature=message.")
    ] = False,
    preset: Annotated[str, typer.Option(help="detector.preset of the runs.")] = "paper",
    tokens: Annotated[
        int,
        typer.Option(help="For detector.encoder=finetune: detector.encoder_tokens of the runs."),
    ] = 0,
) -> None:
    """Embed a silo's texts and pack its graphs, so that it can train and score."""
    if preset not in PRESET_FEATURES:
        raise SettingsError(
            f"--preset: expected one of {', '.join(PRESET_FEATURES)}, got {preset!r}"
            f"{suggestion(preset, PRESET_FEATURES)}"
        )
    graph = GraphSettings(rounds, node_feature, messages, **PRESET_FEATURES[preset], tokens=tokens)
    if encoder == "none":
        raise EncoderError(f"--encoder: expected one of {', '.join(ENCODERS)}, got 'none'")
    _embed(Silo.open(path), _encoder(encoder), graph)


@app.command()
@_reported
def score(
    bundle: Annotated[Path, typer.Argument(help="A guard's folder.")],
    episodes: Annotated[Path, typer.Argument(help="Episodes as JSON Lines, schema 1.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write verdicts here, not to stdout.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first problem.")] = False,
    domain: Annotated[
        str | None, typer.Option(help="Decide by this domain's threshold; else by the pooled one.")
    ] = None,
    taints: Annotated[
        bool,
        typer.Option("--taints/--no-taints", help="Tell of tainted values, which quote episodes."),
    ] = True,
) -> None:
    """Score episodes with a guard: one verdict a line, as JSON."""
    from fglguard.guard import Guard

    if output is not None:
        require_folder_of(output)
    guard = Guard.load(bundle, domain=domain, taints=taints)
    problems: list[Problem] = []
    found = list(read_episodes(episodes, strict=strict, problems=problems))
    _report_problems(problems)
    if not found:
        raise EpisodeError(f"{episodes}: expected at least one episode, got none")
    _write_verdicts(guard.score(found), output)


@app.command()
@_reported
def recalibrate(
    bundle: Annotated[Path, typer.Argument(help="A guard's folder; only read.")],
    silo: Annotated[Path, typer.Argument(metavar="SILO", help="Labelled episodes, prepared.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The new guard's folder; nothing is replaced.")
    ],
    budget: Annotated[
        float | None, typer.Option(help="Over-refusal budget; by default the old one.")
    ] = None,
    rule: Annotated[
        Rule | None, typer.Option(help="In which sense it is met; by default the old one.")
    ] = None,
    risk: Annotated[
        float | None, typer.Option(help="For clopper_pearson; by default the old one, or 0.1.")
    ] = None,
    by: Annotated[
        By | None, typer.Option(help="What is exchangeable; by default the old one.")
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(help="Choose this domain's own threshold; else the pooled one."),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="All labelled episodes, not the validation split's alone; none of them "
            "may have trained the guard.",
        ),
    ] = False,
) -> None:
    """Choose a guard's threshold anew on a silo, as a new guard; the old one stays as it is."""
    from fglguard.recalibration import Choice
    from fglguard.recalibration import recalibrate as choose_anew

    done = choose_anew(bundle, silo, output, Choice(budget, rule, risk, by, domain, every))
    for name, (calibration, its_id) in (("old", done.before), ("new", done.after)):
        blocked = f"{calibration.false_positive_rate:.1%} of {calibration.benign} benign"
        if calibration.recall is not None:
            blocked += f", {calibration.recall:.1%} of {calibration.unsafe} unsafe"
        print(
            f"{name}: threshold {calibration.threshold:.6g}, blocks {blocked} calibration episodes "
            f"(calibration {its_id})"
        )
    kept = [name for name in done.new.domains if name != domain]
    if kept:
        print(f"domains whose own thresholds stay: {', '.join(kept)}")
    print(f"{output}: model {done.new.model_id} as before")


@app.command()
@_reported
def report(
    run_folder: Annotated[Path, typer.Argument(help="The folder of a completed run.")],
    silo: Annotated[
        Path | None,
        typer.Option(help="A silo, or a folder of silos: show some of its test episodes."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The page; by default report-with-text.html in the working directory, or the run "
            "folder's report.html where no text is in it.",
        ),
    ] = None,
    share: Annotated[
        bool,
        typer.Option("--share", help="Leave out what agents said and every name a site chose."),
    ] = False,
    guard: Annotated[
        Path | None, typer.Option(help="The guard that scores the episodes, if not the run's.")
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of each sort.")] = 3,
) -> None:
    """Write a run's report as one page; with a silo, also the text of some of its episodes.

    A page with text is readable by its owner only and must not leave the site.
    """
    from fglguard.evaluation.report.silos import silos_of_run
    from fglguard.evaluation.report.writing import REPORT_FILE, TEXT_FILE, write_report

    with_text = silo is not None and not share
    written = output or (Path(TEXT_FILE) if with_text else run_folder / REPORT_FILE)
    if output is not None:
        require_folder_of(output)
    silos = silos_of_run(run_folder, silo) if silo else []
    write_report(run_folder, written, silos=silos, with_text=with_text, guard=guard, each=episodes)
    print(f"{written}{': holds text, must not leave the site' if with_text else ''}")


app.command()(_reported(serve))


def _require_free(output: Path, overwrite: bool) -> None:
    if not overwrite and (output / MANIFEST).exists():
        raise SiloError(f"{output}: there is a silo already; --overwrite replaces it")


def _write_verdicts(verdicts: list[Any], output: Path | None) -> None:
    target: AbstractContextManager[BinaryIO] = (
        nullcontext(sys.stdout.buffer) if output is None else write_atomically(output, mode=0o600)
    )
    with target as file:
        for verdict in verdicts:
            file.write(json.dumps(verdict.to_record(), allow_nan=False).encode() + b"\n")


def _encoder(name: str) -> Encoder | None:
    """The encoder by that name on every core; before any work, so that a bad name costs none."""
    return None if name == "none" else load_encoder(name, threads=os.cpu_count() or 1)


def _embed(silo: Silo, encoder: Encoder | None, graph: GraphSettings | None = None) -> None:
    if encoder is not None:
        silo.prepare(encoder, graph or GraphSettings(), progress=True)


def _report_problems(problems: list[Problem]) -> None:
    if not problems:
        return
    console.print(f"{len(problems)} records skipped:", style="yellow")
    for problem in problems[:PROBLEMS_SHOWN]:
        console.print(f"  {problem}", soft_wrap=True)
    if len(problems) > PROBLEMS_SHOWN:
        console.print(f"  and {len(problems) - PROBLEMS_SHOWN} more")
