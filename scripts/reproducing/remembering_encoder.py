"""An encoder that encodes each text once, over many guards, episodes and commands.

Texts are encoded one at a time. In a batch the last bits of a vector follow from what stands beside
it, so what is kept would differ by which texts were left over from a command that was cut off.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from fglguard.encoder import Encoder
from fglguard.errors import EncoderError
from fglguard.files import write_atomically
from fglguard.progress import progress_bar
from fglguard.silo import Silo
from fglguard.silo.index import text_id

KEEP_EVERY = 128
"""Texts after which the file is written: a process that is killed loses no more."""


class RememberingEncoder:
    """Gives what another encoder gives for each text by itself, with a memory.

    Args:
        encoder: The other encoder.
        silos: Texts that they hold are known; they are prepared with that encoder.
        keep: File in which the vectors of other texts are kept, under a digest of the text.

    Raises:
        EncoderError: The file is damaged.
    """

    def __init__(self, encoder: Encoder, silos: Sequence[Silo], keep: Path) -> None:
        self._encoder = encoder
        self._keep = keep
        self._known = {
            key: vector for silo in silos for key, vector in silo.encoded_texts(self.fingerprint)
        }
        self._new: dict[bytes, NDArray[np.float32]] = _read(keep) if keep.exists() else {}

    @property
    def name(self) -> str:
        """The other encoder's."""
        return self._encoder.name

    @property
    def dimension(self) -> int:
        """The other encoder's."""
        return self._encoder.dimension

    @property
    def fingerprint(self) -> str:
        """The other encoder's."""
        return self._encoder.fingerprint

    def encode(self, texts: Sequence[str], *, progress: bool = False) -> NDArray[np.float32]:
        """Encode texts, [n, d]; those that are not known yet by the other encoder."""
        self.learn(texts, progress=progress)
        keys = [text_id(text) for text in texts]
        found = [self._known[key] if key in self._known else self._new[key] for key in keys]
        return np.stack(found) if found else np.zeros((0, self.dimension), dtype=np.float32)

    def learn(self, texts: Iterable[str], *, progress: bool = False) -> None:
        """Encode those of some texts that are not known yet, and keep them while it goes on.

        Args:
            texts: In the order in which they are encoded.
            progress: Show a progress bar on stderr.
        """
        absent = {
            key: text
            for text in texts
            if (key := text_id(text)) not in self._known and key not in self._new
        }
        unsaved = 0
        with progress_bar("new texts", len(absent), progress and bool(absent)) as advance:
            try:
                for key, text in absent.items():
                    (self._new[key],) = self._encoder.encode([text])
                    unsaved += 1
                    if unsaved == KEEP_EVERY:
                        self._write()
                        unsaved = 0
                    advance(1)
            finally:
                if unsaved:
                    self._write()

    def _write(self) -> None:
        self._keep.parent.mkdir(parents=True, exist_ok=True)
        ids = np.frombuffer(b"".join(self._new), dtype=np.uint8).reshape(len(self._new), -1)
        with write_atomically(self._keep, mode=0o600) as file:
            np.savez(file, ids=ids, vectors=np.stack(list(self._new.values())))


def _read(path: Path) -> dict[bytes, NDArray[np.float32]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            rows = zip(archive["ids"], archive["vectors"], strict=True)
            return {key.tobytes(): vector for key, vector in rows}
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise EncoderError(
            f"{path}: expected vectors of texts, got damage ({error}); remove it"
        ) from error
