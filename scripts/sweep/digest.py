"""What decides a point's outcome, as eight hexadecimal digits."""

import hashlib
import json
from pathlib import Path

from fglguard.corpora.splits_file import Splits
from fglguard.settings import RunSettings, values_of
from fglguard.silo import open_silos
from fglguard.silo.manifest import read_manifest
from scripts.sweep.code import code_digest

NOT_OUTCOME = (
    "output",
    "resume",
    "corpus.path",
    "corpus.splits",
    "federation.backend",
    "federation.workers",
    "federation.ray.address",
)
"""Settings that do not change the outcome; what stands at `corpus.path` counts, not the path."""
NOT_OUTCOME_GROUP = "tracking."
DIGITS = 8


def outcome_digest(settings: RunSettings) -> str:
    """The first digits of the SHA-256 over settings, code and the silos' content.

    Raises:
        SiloError: There is no silo at `corpus.path`, or it is damaged.
        SettingsError: The file at `corpus.splits` can't be read.
    """
    values = {
        key: value
        for key, value in values_of(settings).items()
        if key not in NOT_OUTCOME and not key.startswith(NOT_OUTCOME_GROUP)
    }
    identity: dict[str, object] = {
        "settings": values,
        "code": code_digest(),
        "silos": [
            silo_content(silo.path, settings.corpus.encoder)
            for silo in open_silos(settings.corpus.path)
        ],
    }
    if settings.corpus.splits:
        identity["splits"] = Splits.read(Path(settings.corpus.splits)).sha256
    text = json.dumps(identity, sort_keys=True).encode()
    return hashlib.sha256(text).hexdigest()[:DIGITS]


def silo_content(path: Path, encoder: str) -> dict[str, object]:
    """Hashes of a silo's episodes, labels and splits, and the fingerprints of the run's encoder.

    Not the whole manifest's hash: embedding with another encoder changes that, and no outcome.
    """
    manifest = read_manifest(path)
    data = f"{manifest.data}/"
    files = {
        name.removeprefix(data): stored.sha256
        for name, stored in manifest.files.items()
        if name.startswith(data) and "/" not in name.removeprefix(data)
    }
    encoders = [
        fingerprint for fingerprint, one in manifest.embeddings.items() if one.encoder == encoder
    ]
    return {"files": files, "encoders": sorted(encoders)}
