"""Orders told as facts: "Please send X to Y." becomes "X is to be sent to Y."."""

import re

PARTICIPLES = {
    "access": "accessed", "achieve": "achieved", "add": "added", "archive": "archived",
    "block": "blocked", "book": "booked", "buy": "bought", "cancel": "cancelled",
    "change": "changed", "check": "checked", "click": "clicked", "create": "created",
    "delete": "deleted", "deposit": "deposited", "disable": "disabled", "dispatch": "dispatched",
    "download": "downloaded", "email": "emailed", "enable": "enabled", "execute": "executed",
    "fetch": "fetched", "fill": "filled", "find": "found", "follow": "followed",
    "forward": "forwarded", "generate": "generated", "get": "fetched", "give": "given",
    "grant": "granted", "guide": "guided", "initiate": "initiated", "invite": "invited",
    "leave": "left", "list": "listed", "make": "made", "modify": "modified", "move": "moved",
    "open": "opened", "pay": "paid", "post": "posted", "provide": "provided", "redirect":
    "redirected", "remove": "removed", "request": "requested", "reset": "reset", "retrieve":
    "retrieved", "retrive": "retrieved", "run": "run", "save": "saved", "schedule": "scheduled",
    "search": "searched", "sell": "sold", "send": "sent", "sent": "sent", "set": "set",
    "share": "shared", "shut": "shut", "stop": "stopped", "tell": "told", "transfer":
    "transferred", "turn": "turned", "unlock": "unlocked", "update": "updated", "upload":
    "uploaded", "use": "used", "visit": "visited", "withdraw": "withdrawn", "write": "written",
}  # fmt: skip
"""Of the verbs that an order may begin with, as they are passed on."""

_VERBS = "|".join(PARTICIPLES)
_CLAUSES = re.compile(
    rf"(?<=[.!?])\s+|,?\s+(?:and\s+)?then\s+(?=(?:{_VERBS})\b)|,?\s+and\s+(?=(?:{_VERBS})\b)",
    re.IGNORECASE,
)
_POLITE = (
    r"(?:please|kindly|also|first|just|immediately|directly|can you|could you|you should|let's|,)"
)
_ORDER = re.compile(
    rf"^(?P<before>(?:once|when|after|for)\b[^,]*,\s*)?(?:{_POLITE}\s*)*"
    rf"(?P<verb>{_VERBS})\s+(?P<rest>\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
_OBJECT_ENDS = re.compile(
    r"\s+(?=(?:to|with|for|on|in|from|at|by|into|via|using|within|under|about|through)\b)"
)


def as_facts(request: str) -> str | None:
    """The request with each order as a fact; None where no order was found.

    Clauses that are no order, or whose verb is not known, stay as they are. Values stay as they
    are too.
    """
    clauses = [clause.strip() for clause in _CLAUSES.split(request) if clause.strip()]
    told = [_told(clause) for clause in clauses]
    if all(fact is None for fact in told):
        return None
    return " ".join(fact or _stopped(clause) for fact, clause in zip(told, clauses, strict=True))


def first_verb(request: str) -> str | None:
    """The first verb that is known, wherever it stands; lower case."""
    match = re.search(rf"\b(?:{_VERBS})\b", request, re.IGNORECASE)
    return match.group().lower() if match else None


def _told(clause: str) -> str | None:
    match = _ORDER.match(clause.rstrip(".!?, "))
    if match is None:
        return None
    thing, *further = _OBJECT_ENDS.split(f" {match['rest']}", maxsplit=1)
    # "Search for friends": what is acted on is named after a preposition, or before.
    thing = "this" if not thing.strip() else thing.strip()
    tail = f" {further[0]}" if further else ""
    plural = thing.lower() == "them" or re.fullmatch(r".*[^siu\W]s", thing)
    subject = "they" if thing.lower() == "them" else thing
    deed = f"{'are' if plural else 'is'} to be {PARTICIPLES[match['verb'].lower()]}"
    fact = f"{match['before'] or ''}{subject} {deed}{tail}"
    return _stopped(fact[:1].upper() + fact[1:])


def _stopped(clause: str) -> str:
    return clause if clause[-1:] in ".!?" else f"{clause}."
