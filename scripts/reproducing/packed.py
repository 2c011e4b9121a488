"""Graphs packed by the code that there is now.

What a graph holds follows from the code too, which a silo does not record: graphs that other code
packed would train and test a detector that this code does not have.
"""

import json
from pathlib import Path

from fglguard.encoder import Encoder, load_encoder
from fglguard.files import write_atomically
from fglguard.graph import GraphSettings
from fglguard.silo import Silo, open_silos
from scripts.sweep.code import code_digest

CODE = ("fglguard.silo.packing",)


def pack_by_this_code(path: Path, encoder: str, settings: GraphSettings, record: Path) -> None:
    """Pack the graphs of silos anew, unless the record says that this code packed them.

    Args:
        path: The silos.
        encoder: Name of the encoder.
        settings: Of the graphs.
        record: JSON file of what packed which graphs, written here.

    Raises:
        SiloError: A silo can't be read, or another process is writing to it.
    """
    own, code = load_encoder(encoder), code_digest(CODE)
    for silo in open_silos(path):
        if _read(record).get(_key(silo, own, settings)) == code:
            continue
        silo.prepare(own, settings, progress=True, again=True)
        _note(silo, own, settings, record)


def note_packed(path: Path, encoder: str, settings: GraphSettings, record: Path) -> None:
    """Note graphs that stand in silos as they are to be, so that they are not packed anew.

    Args:
        path: The silos.
        encoder: Name of the encoder.
        settings: Of the graphs.
        record: JSON file of what packed which graphs.

    Raises:
        SiloError: A silo can't be read.
    """
    own = load_encoder(encoder)
    for silo in open_silos(path):
        _note(silo, own, settings, record)


def _note(silo: Silo, encoder: Encoder, settings: GraphSettings, record: Path) -> None:
    known = {**_read(record), _key(silo, encoder, settings): code_digest(CODE)}
    with write_atomically(record) as file:
        file.write(json.dumps(known, indent=2).encode() + b"\n")


def _key(silo: Silo, encoder: Encoder, settings: GraphSettings) -> str:
    return f"{silo.path.resolve()} {settings.fingerprint(encoder.fingerprint)}"


def _read(record: Path) -> dict[str, str]:
    return json.loads(record.read_bytes()) if record.exists() else {}
