"""A guard bundle: a folder with everything that scoring needs, and nothing that runs code."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from fglguard.calibration import Calibration, ReferenceHistogram
from fglguard.calibration.record import from_record, to_record
from fglguard.detector import Detector, build_detector
from fglguard.detector_options import DetectorOptions
from fglguard.errors import BundleError, CalibrationError, FglguardError, shown
from fglguard.files import write_atomically, write_folder
from fglguard.graph import GraphSettings
from fglguard.parameters import layout
from fglguard.sealing import digest, seal, unseal
from fglguard.signature import PublicKey, require_signature, sign

SCHEMA = 1
MODEL_FILE = "model.safetensors"
GUARD_FILE = "guard.json"
SIGNATURE_FILE = "guard.json.sig"
"""Of a guard that was signed, beside the other two."""
WIDEST = 16384
"""Widest node features that a bundle may ask for."""


class NamedEncoder(Protocol):
    """What a bundle keeps of an encoder."""

    @property
    def name(self) -> str:
        """The name `load_encoder` knows it by."""

    @property
    def fingerprint(self) -> str:
        """Equal on every machine for the same weights and settings, and only then."""


@dataclass(frozen=True)
class Bundle:
    """What `load_bundle` read.

    Attributes:
        detector: In evaluation mode.
        encoder_name: The encoder that `load_encoder` must give.
        encoder_fingerprint: The fingerprint that it must have.
        graph: How an episode becomes a graph.
        calibration: The threshold and how it was chosen, on all domains together.
        provenance: Where the model came from: run, seed, rounds, versions, ...
        model_id: First 16 hex digits of the weights' SHA-256.
        calibration_id: The same of the calibration's record, the model's hash included.
        domains: By name, the calibrations of domains that have their own.
        domain_ids: By name, the same of their records.
        reference: Scores that `calibration` was chosen on, in coarse bins; None where the guard was
            written without. Not part of the calibration's record, as no decision rests on it.
        domain_references: By name, the same of domains' own calibrations. Only a recalibrated guard
            has any (`fglguard.recalibration`), of its own site's scores.
    """

    detector: Detector
    encoder_name: str
    encoder_fingerprint: str
    graph: GraphSettings
    calibration: Calibration
    model_id: str
    calibration_id: str
    provenance: Mapping[str, Any] = field(default_factory=dict)
    domains: Mapping[str, Calibration] = field(default_factory=dict)
    domain_ids: Mapping[str, str] = field(default_factory=dict)
    reference: ReferenceHistogram | None = None
    domain_references: Mapping[str, ReferenceHistogram] = field(default_factory=dict)

    def for_domain(self, domain: str | None) -> tuple[Calibration, str]:
        """The calibration of a domain and its id; the pooled one where it has none of its own."""
        if domain is not None and domain in self.domains:
            return self.domains[domain], self.domain_ids[domain]
        return self.calibration, self.calibration_id

    def reference_for(self, domain: str | None) -> ReferenceHistogram | None:
        """The reference of a domain; the pooled one where it has none of its own."""
        if domain is not None and domain in self.domain_references:
            return self.domain_references[domain]
        return self.reference


def save_bundle(
    path: Path,
    detector: Detector,
    *,
    encoder: NamedEncoder,
    graph: GraphSettings,
    calibration: Calibration,
    domains: Mapping[str, Calibration] | None = None,
    reference: ReferenceHistogram | None = None,
    domain_references: Mapping[str, ReferenceHistogram] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> None:
    """Write a bundle as the folder `path`: `model.safetensors` and `guard.json`.

    The folder is written beside and renamed, so that it appears whole; one that is there already
    is replaced. Strict JSON has no infinity: a threshold of +inf is written as null beside
    `"blocks": "nothing"`.

    Args:
        path: The folder.
        detector: Weights and preset.
        encoder: The one the detector was trained with; its name and fingerprint are kept.
        graph: The settings it was trained with.
        calibration: The threshold.
        domains: By name, the thresholds of domains that have their own.
        reference: Of the scores that `calibration` was chosen on.
        domain_references: By name, of those that the domains' own were chosen on.
        provenance: Anything JSON can hold.

    Raises:
        BundleError: Weights, threshold or provenance can't be written, the graph settings do not
            give the features that the detector expects, a reference counts other episodes than its
            calibration, or `path` is something other than a bundle.
    """
    _check_target(path)
    _check_features(detector, graph)
    _check_references(calibration, domains or {}, reference, domain_references or {})
    tensors = {name: p.detach().contiguous().cpu() for name, p in detector.named_parameters()}
    _check_finite(tensors, "the detector to save")
    model = save_tensors(tensors)
    content = {
        "schema": SCHEMA,
        "detector": _detector_record(detector),
        "encoder": {"name": encoder.name, "fingerprint": encoder.fingerprint},
        "graph": asdict(graph),
        "calibration": _record(calibration),
        "domains": {name: _record(own) for name, own in (domains or {}).items()},
        "reference": reference.to_record() if reference else None,
        "domain_references": {n: own.to_record() for n, own in (domain_references or {}).items()},
        "provenance": dict(provenance or {}),
        "files": {MODEL_FILE: hashlib.sha256(model).hexdigest()},
    }
    write_folder(path, {MODEL_FILE: model, GUARD_FILE: seal(content)})


def sign_bundle(path: Path, private_key: Path) -> None:
    """Write `guard.json.sig` into a bundle: whoever has the public key can tell who made it.

    Args:
        path: The bundle's folder.
        private_key: An Ed25519 key in OpenSSH's format, such as the host's kit has as `host.key`.

    Raises:
        BundleError: The bundle can't be read.
        SignatureError: The key can't be read or is another kind.
    """
    signature = sign(_read(path / GUARD_FILE), private_key)
    with write_atomically(path / SIGNATURE_FILE) as file:
        file.write(signature)


def load_bundle(path: Path, signed_by: PublicKey | None = None) -> Bundle:
    """Read a bundle and check it whole.

    Both files are compared with their SHA-256, and `guard.json` with its one canonical spelling,
    so that no byte of either can change unnoticed by accident. Against purpose only `signed_by`
    helps: whoever can write the folder can write new hashes, but no new signature.

    Args:
        path: The folder.
        signed_by: The key that must have signed it; None: signatures are not looked at.

    Raises:
        SignatureError: It is not signed by that key; the text names file and key.
        BundleError: A file or key is missing, a byte was changed, the schema is another, or the
            weights or the graph settings do not fit the detector.
    """
    _require_guard(path)
    files = {name: _read(path / name) for name in (GUARD_FILE, MODEL_FILE)}
    if signed_by is not None and (path / SIGNATURE_FILE).exists():
        files[SIGNATURE_FILE] = _read(path / SIGNATURE_FILE)
    return bundle_of(files, path, signed_by)


def bundle_of(files: Mapping[str, bytes], path: Path, signed_by: PublicKey | None) -> Bundle:
    """The bundle of files that are read already, checked whole.

    Args:
        files: Contents by name.
        path: The folder that they are from, or shall go to, for messages.
        signed_by: As in `load_bundle`.

    Raises:
        BundleError: As `load_bundle`; SignatureError is one.
    """
    if signed_by is not None:
        # Before anything of it is read: of what nobody vouches for nothing is believed.
        told, where = files.get(SIGNATURE_FILE), str(path / SIGNATURE_FILE)
        require_signature(files[GUARD_FILE], told, signed_by, where)
    content = unseal(files[GUARD_FILE], str(path / GUARD_FILE))
    if content.get("schema") != SCHEMA:
        raise BundleError(
            f"{path / GUARD_FILE}: schema: expected {SCHEMA}, got {content.get('schema')!r}"
        )
    model = files[MODEL_FILE]
    try:
        expected = content["files"][MODEL_FILE]
        found = hashlib.sha256(model).hexdigest()
        if found != expected:
            raise BundleError(
                f"{path / MODEL_FILE}: changed since it was saved: expected SHA-256 "
                f"{expected[:16]}…, got {found[:16]}…"
            )
        detector = _load_detector(content["detector"], model, path)
        graph = GraphSettings(**content["graph"])
        _check_features(detector, graph)
        domains = _objects(content, "domains")
        bundle = Bundle(
            detector=detector,
            encoder_name=_text(content["encoder"], "name"),
            encoder_fingerprint=_text(content["encoder"], "fingerprint"),
            graph=graph,
            calibration=from_record(content["calibration"]),
            provenance=_provenance(content["provenance"]),
            model_id=found[:16],
            calibration_id=digest([found, content["calibration"]])[:16],
            domains={name: from_record(r, f"domains.{name}") for name, r in domains.items()},
            domain_ids={name: digest([found, name, r])[:16] for name, r in domains.items()},
            reference=_reference(content),
            domain_references={
                name: ReferenceHistogram.from_record(record, f"domain_references.{name}")
                for name, record in _objects(content, "domain_references").items()
            },
        )
        _check_references(
            bundle.calibration, bundle.domains, bundle.reference, bundle.domain_references
        )
        return bundle
    except KeyError as error:
        raise BundleError(f"{path / GUARD_FILE}: the key {error} is missing") from None
    except BundleError as error:
        where = "" if str(error).startswith(str(path)) else f"{path / GUARD_FILE}: "
        raise BundleError(f"{where}{error}") from None
    except (TypeError, ValueError, FglguardError) as error:
        raise BundleError(f"{path / GUARD_FILE}: {error}") from error


def _require_guard(path: Path) -> None:
    """Raise where there is no guard at all: a slip in a path, most likely."""
    if (path / GUARD_FILE).exists() or (path / MODEL_FILE).exists():
        return
    found = "found no such folder"
    if path.is_dir():
        found = "found neither in it"
    elif path.exists():
        found = "found a file"
    near = f"; did you mean {path / 'guard'}?" if (path / "guard" / GUARD_FILE).exists() else ""
    raise BundleError(
        f"{path}: expected a guard's folder ({GUARD_FILE} and {MODEL_FILE}), such as "
        f"runs/NAME/guard, {found}{near}"
    )


def _detector_record(detector: Detector) -> dict[str, Any]:
    return {
        "preset": detector.preset,
        "dimension": detector.dimension,
        "options": asdict(detector.options),
        "parameters": [[s.name, list(s.shape)] for s in layout(detector)],
    }


def _load_detector(record: Mapping[str, Any], model: bytes, path: Path) -> Detector:
    dimension = record["dimension"]
    if type(dimension) is not int or not 1 <= dimension <= WIDEST:
        raise BundleError(f"detector.dimension: expected 1 to {WIDEST}, got {shown(dimension)}")
    options = DetectorOptions(**record["options"])
    detector = build_detector(record["preset"], dimension, 0, options)
    if _detector_record(detector)["parameters"] != record["parameters"]:
        raise BundleError(
            f"{path / GUARD_FILE}: detector.parameters differ from those that this version's "
            f"preset {record['preset']!r} has"
        )
    try:
        tensors = load_tensors(model)
    except SafetensorError as error:
        raise BundleError(f"{path / MODEL_FILE}: not a safetensors file ({error})") from error
    wanted = {name: (tuple(p.shape), p.dtype) for name, p in detector.named_parameters()}
    found = {name: (tuple(t.shape), t.dtype) for name, t in tensors.items()}
    if found != wanted:
        odd = sorted(n for n in wanted.keys() | found.keys() if wanted.get(n) != found.get(n))
        raise BundleError(
            f"{path / MODEL_FILE}: parameter {odd[0]}: expected {wanted.get(odd[0])}, "
            f"got {found.get(odd[0])}"
        )
    _check_finite(tensors, str(path / MODEL_FILE))
    detector.load_state_dict(tensors)
    return detector.eval()


def _check_features(detector: Detector, graph: GraphSettings) -> None:
    node_feature, messages = detector.options.node_feature, detector.edge_dimension > 0
    if (graph.node_feature, graph.messages) != (node_feature, messages):
        raise BundleError(
            f"graph: expected node_feature {node_feature!r} and messages {messages}, as the "
            f"detector wants them, got {graph.node_feature!r} and {graph.messages}"
        )
    if (graph.tokens > 0) != detector.reads_tokens:
        wanted = "token ids" if detector.reads_tokens else "no token ids"
        raise BundleError(f"graph: expected {wanted}, as the detector wants, got {graph.tokens}")
    if graph.preset != detector.preset:
        raise BundleError(
            f"graph: expected the features of preset {detector.preset!r}, got those of "
            f"{graph.preset!r}"
        )


def _check_finite(tensors: Mapping[str, torch.Tensor], where: str) -> None:
    for name, tensor in tensors.items():
        if not torch.isfinite(tensor).all():
            raise BundleError(f"{where}: parameter {name} holds NaN or infinity")


def _record(calibration: Calibration) -> dict[str, Any]:
    try:
        return to_record(calibration)
    except CalibrationError as error:
        raise BundleError(str(error)) from error


def _objects(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The domains' records under a key; a guard from before there were any has none."""
    records = content.get(key, {})
    if not isinstance(records, dict):
        raise BundleError(f"{key}: expected an object, got {shown(records)}")
    return records


def _reference(content: Mapping[str, Any]) -> ReferenceHistogram | None:
    """The pooled reference; a guard from before there was one has none."""
    record = content.get("reference")
    return None if record is None else ReferenceHistogram.from_record(record)


def _check_references(
    calibration: Calibration,
    domains: Mapping[str, Calibration],
    reference: ReferenceHistogram | None,
    domain_references: Mapping[str, ReferenceHistogram],
) -> None:
    try:
        if reference is not None:
            reference.check_counts(calibration, "reference")
        for name, own in domain_references.items():
            if name not in domains:
                raise CalibrationError(f"domain_references.{name}: the domain has no calibration")
            own.check_counts(domains[name], f"domain_references.{name}")
    except CalibrationError as error:
        raise BundleError(str(error)) from error


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record[key]
    if not isinstance(value, str) or not value:
        raise BundleError(f"encoder.{key}: expected a text, got {shown(value)}")
    return value


def _provenance(record: Any) -> Mapping[str, Any]:
    if not isinstance(record, dict):
        raise BundleError(f"provenance: expected an object, got {type(record).__name__}")
    return record


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BundleError(f"{path}: can't be read: {error.strerror}") from error


def _check_target(path: Path) -> None:
    if path.is_dir():
        others = {entry.name for entry in path.iterdir()} - {MODEL_FILE, GUARD_FILE, SIGNATURE_FILE}
        if others:
            raise BundleError(
                f"{path}: not replaced: it holds {sorted(others)[0]!r}, so it is no bundle"
            )
    elif path.exists():
        raise BundleError(f"{path}: expected a folder or nothing, found a file")
