"""Graphs packed by the code that there is now.

What a graph holds follows from the code too, which a silo does not record: graphs that other code
packed would train and test a detector that this code does not have.
"""

import json
from pathlib import Path

from fglguard.encoder import load_encoder
from fglguard.files import write_atomically
from fglguard.graph import GraphSettings
from fglguard.silo import open_silos
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
        known = json.loads(record.read_bytes()) if record.exists() else {}
        key = f"{silo.path.resolve()} {settings.fingerprint(own.fingerprint)}"
        if known.get(key) == code:
            continue
        silo.prepare(own, settings, progress=True, again=True)
        with write_atomically(record) as file:
            file.write(json.dumps({**known, key: code}, indent=2).encode() + b"\n")
