"""Audit of language models: what one client's export of a few texts gives away."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fglguard.errors import PrivacyError
from privacy.attacks.observation import Observation, Tokens
from privacy.attacks.remembered_gradients import RememberedGradients
from privacy.attacks.text_candidates import RememberedMasks
from privacy.audit.findings import Finding, Trial, compared, means
from privacy.audit.observing import observe, observe_mean, observe_null
from privacy.audit.sentences import sentences
from privacy.audit.text_groups import GROUPS, PAPER, Group, Target
from privacy.audit.victims import Size, Victim, make_victim, train_victim
from privacy.plans import LADDER, Operation, Plan, Privacy, plan_of
from privacy.roles import Role
from privacy.signals import Strength
from privacy.text_task import TextBatch

ABLATIONS: Mapping[str, Role] = {
    "attention open": Role.ATTENTION_PROJECTION,
    "embedding open": Role.TOKEN_EMBEDDING,
    "expansion open": Role.EXPANSION,
}
"""Two masks of AEGIS's three: what is left out."""
_ABLATED: Privacy = "aegis"
_CORPUS = 400
"""Sentences that a tokenizer and the global model learn from."""


Mask = tuple[Plan, Strength]
Scored = defaultdict[tuple[str, int], list[Trial]]
"""By mask, and by T or the number of a draw."""


@dataclass(frozen=True)
class TextAudit:
    """What is varied, and how much of it.

    Attributes:
        family: Of transformers; `privacy.audit.victims.FAMILIES`.
        strengths: Of each mask's noise, by the mask's name; `none` is among them.
        exports: Numbers T of exports that an attacker averages.
        batches: Sizes of a client's batch.
        groups: Kinds of attacks.
        trials: Batches at most, of each size; 0: as many as each kind says.
        bank: Candidates; batches are drawn from them.
        length: Tokens of a text at most.
        size: Of the model.
        warm_steps: Steps that the global model has been trained for.
        seed: Of everything.
    """

    family: str
    strengths: Mapping[Privacy, Strength]
    exports: Sequence[int]
    batches: Sequence[int] = (1, 4)
    groups: Sequence[Group] = field(default_factory=lambda: tuple(GROUPS.values()))
    trials: int = 0
    bank: int = 64
    length: int = 12
    size: Size = field(default_factory=lambda: Size(width=64, vocabulary=400, positions=32))
    warm_steps: int = 60
    seed: int = 0


def audited_victim(audit: TextAudit) -> Victim:
    """The global model of a run that is under way, and its tokenizer."""
    corpus = sentences(_CORPUS, audit.seed)
    victim = make_victim(audit.family, corpus, seed=audit.seed, size=audit.size)
    if audit.warm_steps:
        train_victim(victim, corpus, steps=audit.warm_steps, seed=audit.seed)
    return victim


def audit_texts(
    audit: TextAudit, progress: Callable[[str], None] = lambda text: None
) -> list[Finding]:
    """Run every attack on every export of one family of transformers.

    Args:
        audit: What to vary.
        progress: Is told what was done.

    Raises:
        PrivacyError: The family is unknown, no kind of attack has a batch of these sizes, or the
            bank is smaller than a batch.
    """
    victim = audited_victim(audit)
    findings: list[Finding] = []
    for size in audit.batches:
        case = _Case(audit, victim, size)
        for group in audit.groups:
            count = group.trials(size, audit.trials)
            if not count or (group.several and max(audit.exports) == 1):
                continue
            findings += case.run(group, count)
            progress(f"{case.name}: {group.name}, {count} batches")
            if group.name == PAPER and _ABLATED in audit.strengths:
                findings += case.ablate(group, count)
    if not findings:
        sizes = ", ".join(map(str, audit.batches))
        raise PrivacyError(f"audit of {audit.family}: no attack asked for takes batches of {sizes}")
    return findings


class _Case:
    """All batches of one size."""

    def __init__(self, audit: TextAudit, victim: Victim, size: int) -> None:
        if audit.bank <= size:
            raise PrivacyError(f"bank: expected more than a batch's {size} texts, got {audit.bank}")
        self._audit, self._victim, self._size = audit, victim, size
        self._bank, self._strangers = _distinct_texts(audit, victim, size)
        self._gradient_of = RememberedGradients(victim.model)
        self._masked_of = RememberedMasks(self._gradient_of)
        self.name = f"{audit.family}, {size} text{'s' * (size > 1)}"

    def run(self, group: Group, count: int) -> list[Finding]:
        """Attacks of one kind under every mask."""
        masks: dict[str, Mask] = {
            name: (plan_of(name), self._audit.strengths[name])
            for name in LADDER
            if name in self._audit.strengths
        }
        exports = [times for times in self._audit.exports if times > 1 or not group.several]
        return self._findings(group, count, masks, exports, self.name)

    def ablate(self, group: Group, count: int) -> list[Finding]:
        """The same at one export, under two masks of three."""
        strengths, plan = self._audit.strengths, plan_of(_ABLATED)
        masks: dict[str, Mask] = {"none": (plan_of("none"), strengths["none"])}
        for name, role in ABLATIONS.items():
            masks[name] = {**plan, role: Operation.OPEN}, strengths[_ABLATED]
        name = f"{self.name}, two masks of three"
        found = self._findings(group, count, masks, [min(self._audit.exports)], name)
        return [finding for finding in found if finding.privacy != "none"]

    def _findings(
        self,
        group: Group,
        count: int,
        masks: Mapping[str, Mask],
        exports: Sequence[int],
        name: str,
    ) -> list[Finding]:
        scored: Scored = defaultdict(list)
        nulls: Scored = defaultdict(list)
        for number in range(count):
            target = self._target(number)
            for privacy, mask in masks.items():
                # Without noise every export is the same, and there is nothing to guess.
                plain = privacy == "none"
                for times in [1] if plain else exports:
                    seen = self._observe(group, target.batch, mask, times, number)
                    scored[privacy, times].append(Trial(group.attack(seen, target)))
                for draw in range(0 if plain else group.nulls):
                    noise = self._noise(mask, number, draw)
                    nulls[privacy, draw].append(Trial(group.attack(noise, target)))
        bare = means(scored["none", 1])
        found = []
        for privacy in masks:
            plain = privacy == "none"
            guessed = [nulls[privacy, draw] for draw in range(0 if plain else group.nulls)]
            for times in exports:
                reached = compared(scored[privacy, 1 if plain else times], guessed, bare)
                found += [
                    Finding(name, group.name, attack, privacy, times, told, self._size, count)
                    for attack, told in reached.items()
                ]
        return found

    def _noise(self, mask: Mask, number: int, draw: int) -> Observation:
        """Of the sizes that texts outside of the bank would have got: one T stands for all."""
        seed = (*self._seed(number), draw)
        chosen = np.random.default_rng(seed).choice(len(self._strangers), self._size, replace=False)
        texts = tuple(self._strangers[row] for row in chosen)
        stranger = TextBatch(texts, self._victim.batch([""] * self._size).labels)
        return observe_null(self._victim.model, stranger, *mask, seed=seed)

    def _observe(
        self,
        group: Group,
        batch: TextBatch,
        mask: Mask,
        exports: int,
        number: int,
    ) -> Observation:
        see = observe if group.several else observe_mean
        return see(self._victim.model, batch, *mask, exports=exports, seed=self._seed(number))

    def _seed(self, number: int) -> tuple[int, ...]:
        return self._audit.seed, self._size, number

    def _target(self, number: int) -> Target:
        first = number * self._size
        rows = [(first + place) % len(self._bank) for place in range(self._size)]
        members = np.zeros(len(self._bank), dtype=np.bool_)
        members[rows] = True
        texts = tuple(self._bank[row] for row in rows)
        labels = self._victim.batch([""] * self._size).labels
        return Target(
            TextBatch(texts, labels),
            max(map(len, texts)),
            self._bank,
            members,
            self._gradient_of,
            self._masked_of,
        )


def _distinct_texts(
    audit: TextAudit, victim: Victim, size: int
) -> tuple[Sequence[Tokens], Sequence[Tokens]]:
    """Texts that the model was not trained on, unlike each other also once cut: bank and others.

    The others, of which null baselines are made, are `size` at least.
    """
    drawn = victim.encode(sentences(8 * audit.bank, audit.seed + 1), audit.length)
    texts = list(dict.fromkeys(drawn))
    if len(texts) < audit.bank + size:
        raise PrivacyError(
            f"bank: expected {audit.bank} texts of {audit.length} tokens, unlike each other, and "
            f"{size} more; the sentences at hand make {len(texts)}"
        )
    return texts[: audit.bank], texts[audit.bank :]
