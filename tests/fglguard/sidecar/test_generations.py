"""Guards follow each other, and no episode is torn apart or lost."""

from functools import partial

import pytest

from fglguard.errors import BundleError, SidecarError
from fglguard.events import Event
from fglguard.graph import GraphSettings
from fglguard.sidecar.generations import Generations
from fglguard.sidecar.loading import load_guard
from fglguard.sidecar.settings import SidecarSettings
from tests.fglguard.sidecar.conftest import write_bundle

AGENTS = {"u": "user", "a": "agent"}


def hello(episode):
    return Event(episode, "u", "please", ("a",), agents=AGENTS)


def reply(episode):
    return Event(episode, "a", "done", ("u",))


@pytest.fixture
def generations(bundle):
    made = Generations(partial(load_guard, SidecarSettings(bundle)))
    yield made
    made.close()


def test_episodes_go_on_with_a_guard_that_reads_alike(bundle, generations):
    first = generations.current
    with generations.of("e") as one:
        one.guard.observe(hello("e"))
    write_bundle(bundle, threshold=0.0, seed=3)
    with generations.of("e") as taken:  # Taken before the reload, finished on the old guard.
        generations.reload()
        assert generations.current is not first
        assert taken is first
        assert taken.guard.check(reply("e")).decision == "allow"
    with generations.of("e") as one:
        assert one is generations.current
        verdict = one.guard.check(reply("e"))
    assert (verdict.status, verdict.decision) == ("success", "block")
    assert verdict.model_id == one.guard.bundle.model_id != first.guard.bundle.model_id
    assert first.guard.scorer.encoder is one.guard.scorer.encoder
    assert generations.every == [one]


def test_else_they_stay_with_the_old_one_until_they_end(bundle, generations):
    first = generations.current
    with generations.of("old") as one:
        one.guard.observe(hello("old"))
    write_bundle(bundle, threshold=0.0, graph=GraphSettings(rounds=5))
    with generations.of("begins") as beginning:
        second = generations.reload()
        # The first request of an episode is under way: the next one goes to the same guard.
        with generations.of("begins") as again:
            assert again is beginning is first
        beginning.guard.observe(hello("begins"))
    for name in ("old", "begins"):
        with generations.of(name) as one:
            assert one is first
            assert one.guard.check(reply(name)).decision == "allow"
    with generations.of("new") as one:
        assert one is second
        one.guard.observe(hello("new"))
        assert one.guard.check(reply("new")).decision == "block"
    assert generations.every == [second, first]

    write_bundle(bundle, graph=GraphSettings(rounds=1))
    with pytest.raises(SidecarError, match="only the guard before this one can read"):
        generations.reload()
    assert generations.current is second
    for name in ("old", "begins"):
        with generations.of(name) as one:
            one.guard.forget(name)
    assert generations.every == [second]
    third = generations.reload()
    assert generations.every == [third, second]


def test_a_bundle_that_can_t_be_loaded_changes_nothing(bundle, generations):
    first = generations.current
    content = bytearray((bundle / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (bundle / "model.safetensors").write_bytes(content)
    with pytest.raises(BundleError, match="changed since it was saved"):
        generations.reload()
    assert generations.current is first
    with generations.of("e") as one:
        one.guard.observe(hello("e"))
        assert one.guard.check(reply("e")).decision == "allow"


def test_one_reload_at_a_time(bundle):
    def load(before):
        if before is not None:
            with pytest.raises(SidecarError, match="on its way already"):
                generations.reload()
        return load_guard(SidecarSettings(bundle), before)

    generations = Generations(load)
    assert generations.reload().number == 2
    generations.close()


def test_a_link_may_be_set_to_another_folder(tmp_path, bundle):
    link = tmp_path / "link"
    link.symlink_to(bundle)
    generations = Generations(partial(load_guard, SidecarSettings(link)))
    other = write_bundle(tmp_path / "other", seed=5)
    link.unlink()
    link.symlink_to(other)
    before = generations.current.guard.bundle.model_id
    assert generations.reload().guard.bundle.model_id != before
    generations.close()
