"""A tokenizer learned from the texts at hand: an audit needs no download."""

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
    if words:
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer: trainers.Trainer = trainers.WordPieceTrainer(
            vocab_size=vocabulary, special_tokens=_SPECIAL_NAMES, show_progress=False
        )
    else:
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
