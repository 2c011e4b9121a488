"""The audit of families of transformers, on texts made here."""

import sys
from collections.abc import Sequence
from dataclasses import replace

from fglguard.settings import PrivacySettings
from privacy.audit.findings import Audit, Finding
from privacy.audit.text_groups import GROUPS, Group
from privacy.audit.texts import TextAudit, audit_texts, audited_victim
from privacy.plans import Operation, operation_of, plan_of
from privacy.roles import parts_of
from privacy.signals import Strength
from scripts.auditing.masks import run_settings
from scripts.auditing.options import Options
from scripts.auditing.processes import in_processes
from scripts.auditing.text_costs import text_costs

BATCHES = (1, 4)
QUICK_TRIALS, QUICK_STEPS = 2, 20
COSTLY = ("adaptive", "matching")
"""Kinds that the quick form leaves out unless they are asked for by name."""


def audit_transformers(options: Options, families: Sequence[str]) -> Audit:
    """Audit families of transformers, in one table.

    Raises:
        SettingsError: A setting does not fit.
        PrivacyError: No attack takes batches of the sizes asked for.
    """
    masks = {name: run_settings(name, options.budget).privacy for name in options.privacies}
    audits = {family: _audit(options, family, masks) for family in families}
    found = in_processes(_audited, audits, options.workers)
    open_tensors: dict[str, list[str]] = {}
    for audit in audits.values():
        parts = parts_of(audited_victim(replace(audit, warm_steps=0)).model)
        for name in masks:
            plan = plan_of(masks[name].name)
            open_tensors[f"{audit.family}, {name}"] = [
                part.name for part in parts if operation_of(part, plan) is Operation.OPEN
            ]
    return Audit(
        model=options.model,
        settings=_record(options, audits[families[0]], masks),
        findings=[finding for findings in found for finding in findings],
        open_tensors=open_tensors,
        overhead={},
        notes=_notes(options),
        utility=text_costs(families, options.workers) if options.utility else {},
    )


def _audited(audit: TextAudit) -> list[Finding]:
    return audit_texts(audit, _tell)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _audit(options: Options, family: str, masks: dict[str, PrivacySettings]) -> TextAudit:
    audit = TextAudit(
        family=family,
        strengths={mask.name: Strength.of(mask) for mask in masks.values()},
        exports=options.exports,
        batches=options.batches or BATCHES,
        groups=_groups(options),
        trials=options.trials,
        seed=options.seed,
    )
    if options.quick:
        trials = options.trials or QUICK_TRIALS
        return replace(audit, trials=trials, warm_steps=QUICK_STEPS)
    return audit


def _groups(options: Options) -> tuple[Group, ...]:
    if "all" not in options.attacks:
        return tuple(GROUPS[name] for name in options.attacks)
    left_out = COSTLY if options.quick else ()
    return tuple(group for name, group in GROUPS.items() if name not in left_out)


def _notes(options: Options) -> list[str]:
    if options.quick and "all" in options.attacks:
        return [f"The quick form leaves out these kinds of attacks: {', '.join(COSTLY)}."]
    return []


def _record(
    options: Options, audit: TextAudit, masks: dict[str, PrivacySettings]
) -> dict[str, str]:
    size, named = audit.size, [mask for name, mask in masks.items() if name != "none"]
    return {
        "texts": f"generated, at most {audit.length} tokens",
        "model": f"{size.layers} blocks of width {size.width}, at most {size.vocabulary} tokens, "
        f"{audit.warm_steps} steps of training",
        "exports averaged": ", ".join(map(str, audit.exports)),
        "exports budgeted for": str(options.budget),
        "bank": f"{audit.bank} texts",
        "null baselines of each batch": ", ".join(f"{g.name}: {g.nulls}" for g in audit.groups),
        "levels": ", ".join(f"{mask.name}: {mask.level}" for mask in named),
        "kappa": ", ".join(f"{mask.name}: {mask.kappa:g}" for mask in named),
        "seed": str(options.seed),
    }
