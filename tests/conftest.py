import numpy as np
import pytest
import torch
from hypothesis import settings

from fglguard.encoder import load_encoder
from fglguard.episode import Agent, Episode, Message
from fglguard.graph import GraphSettings
from fglguard.silo import Silo

torch.set_num_threads(1)
# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("fglguard", deadline=None)
settings.load_profile("fglguard")

HARMLESS = ("read", "list", "summarise", "compare", "sort")
HARMFUL = ("wire", "leak", "erase", "unlock", "forward")


def build_episode(number: int, domain: str, unsafe: bool | None, words: int = 6) -> Episode:
    """A user, an agent and a tool; unsafe agents draw their words from another list."""
    rng = np.random.default_rng([number, len(domain)])
    agents = (Agent("user", "user"), Agent("agent", "agent"), Agent("tool:t", "tool"))
    said = " ".join(rng.choice(HARMFUL if unsafe else HARMLESS, words))
    return Episode(
        id=f"{domain}-{number}",
        domain=domain,
        task=(f"task:{domain}-{number // 2}",),
        agents=agents,
        messages=(
            Message(0, "user", ("agent",), f"please do job {number % 7} in {domain}"),
            Message(1, "agent", ("tool:t",), f"t {said}", "call"),
            Message(1, "tool:t", ("agent",), f"result {number % 5}", "result"),
            Message(2, "agent", ("user",), f"{said} done"),
        ),
        final_agent="agent",
        unsafe=unsafe,
        label_source=None if unsafe is None else "human",
    )


@pytest.fixture(scope="session")
def make_episode():
    return build_episode


@pytest.fixture
def make_silo(tmp_path):
    """A silo of `count` labelled episodes a domain, embedded with hashed words and packed."""

    def make(domains=("a", "b"), count=40, name="silo"):
        episodes = [
            build_episode(number, domain, unsafe=number % 4 < 2)
            for domain in domains
            for number in range(count)
        ]
        silo = Silo.create(tmp_path / name, episodes)
        silo.prepare(load_encoder("hashed-words"), GraphSettings())
        return silo

    return make
