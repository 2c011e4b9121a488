"""A tokenizer learned from the texts at hand: an audit needs no download."""

from collections import Counter
from collections.abc import Sequence

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

PAD, UNKNOWN, START, STOP = range(4)
SPECIAL = frozenset((PAD, UNKNOWN, START, STOP))
"""Tokens that say nothing of a text; scores leave them out."""

_SPECIAL_NAMES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def train_tokenizer(texts: Sequence[str], vocabulary: int, *, words: bool) -> Tokenizer:
    """WordPiece in lower case (`words`), as encoders have, or else byte-pair encoding over bytes.

    Args:
        texts: To learn from.
        vocabulary: Tokens at most, the four special ones included.
        words: Which of both.
    """
    return _word_pieces(texts, vocabulary) if words else _byte_pairs(texts, vocabulary)


def _word_pieces(texts: Sequence[str], vocabulary: int) -> Tokenizer:
    """Every character, at a word's start and within, and the most frequent whole words.

    The library's own trainer numbers tokens in an order that changes from run to run.
    """
    normalizer = normalizers.BertNormalizer(lowercase=True)
    splitter = pre_tokenizers.BertPreTokenizer()
    counts = Counter(
        word
        for text in texts
        for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))
    )
    characters = sorted({character for word in counts for character in word})
    tokens = [*_SPECIAL_NAMES, *characters, *(f"##{character}" for character in characters)]
    frequent = sorted(counts, key=lambda word: (-counts[word], word))
    tokens = list(dict.fromkeys([*tokens, *frequent]))[:vocabulary]
    numbers = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = splitter
    return tokenizer


def _byte_pairs(texts: Sequence[str], vocabulary: int) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=_SPECIAL_NAMES,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
