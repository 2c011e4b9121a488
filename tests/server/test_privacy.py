"""Whole runs with masks: the real ServerApp, strategies and ClientApp on a real silo."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import client.app as client_module
from fglguard.bundle import load_bundle
from fglguard.errors import FederationError, PrivacyError
from fglguard.parameters import flatten, layout
from privacy.masks import mask
from server.app import app as server_app
from server.inprocess import simulate

pytestmark = pytest.mark.long
MASKED = {"privacy__name": "aegis", "detector__preset": "paper"}


def run(config, node_configs=None) -> Path:
    simulate(server_app, client_module.app, config, node_configs)
    return Path(config["output"])


def weights(folder):
    return flatten(load_bundle(folder / "guard").detector)


def test_the_record_says_what_was_masked_and_what_was_open(run_config):
    """A bbp flood's s1 / sigma is (m n)^(1/4) whatever the data: for the input projection of the
    first layer it is (256 d)^(1/4)."""
    config = run_config(**MASKED, privacy__exports=4)
    folder = run(config)
    record = json.loads((folder / "results.json").read_text())["privacy"]
    assert record["exports_made"] == config["federation.rounds"]
    assert (record["name"], record["exports"]) == ("aegis", 4)
    detector = load_bundle(folder / "guard").detector
    sizes = {name: p.numel() for name, p in detector.named_parameters()}
    assert {name: part["size"] for name, part in record["parts"].items()} == sizes
    first = record["parts"]["layers.0.node_projection"]
    assert first["operation"] == "flood"
    expected = first["size"] ** 0.25 / 2  # T = 4; told as the next power of two
    assert first["top_over_sigma"] == 2 ** math.ceil(math.log2(expected))
    opened = {n for n, part in record["parts"].items() if part["operation"] == "open"}
    assert set(record["open"]) == opened
    assert "head_weight" in opened
    line = json.loads((folder / "metrics.jsonl").read_text().splitlines()[0])
    assert line["mask.layers.0.node_projection.norm_over_sigma"] > 0


@pytest.mark.parametrize("name", ["aegis", "aegis_extended"])
@pytest.mark.parametrize("mode", ["delta", "gradient"])
def test_the_same_seed_masks_a_whole_run_the_same(run_config, tmp_path, name, mode):
    config = run_config(privacy__name=name, privacy__mode=mode)
    first, again, bare = (
        weights(run({**config, "output": str(tmp_path / folder), **changes}))
        for folder, changes in (("one", {}), ("two", {}), ("bare", {"privacy.name": "none"}))
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, bare)


def test_what_is_frozen_stays_what_it_was_in_every_round(run_config):
    """`aegis_extended` freezes biases: they are the initial zeros in the guard."""
    folder = run(run_config(privacy__name="aegis_extended", privacy__level="dp_scale"))
    detector = load_bundle(folder / "guard").detector
    for place in layout(detector):
        if place.name.endswith("bias"):
            assert not flatten(detector)[place.span].any()


@pytest.fixture
def replies(monkeypatch):
    """Every reply that a client made, as it leaves."""
    seen = []
    original = client_module.Message

    def watched(content, **kwargs):
        seen.append(content)
        return original(content, **kwargs)

    monkeypatch.setattr(client_module, "Message", watched)
    return seen


def vectors(replies):
    """By site and name, what the first round's replies exported."""
    return {
        (reply["site"]["site"], name): array.numpy()
        for reply in reversed(replies)
        if "arrays" in reply
        for name, array in reply["arrays"].items()
    }


STRATEGIES = ["fedavg", "fedprox", "scaffold", "feddc", "moon", "fgssl", "local", "fedsgd"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("mode", ["delta", "gradient"])
def test_no_strategy_exports_a_masked_tensor_as_it_was(run_config, replies, strategy, mode):
    """The same round without a mask differs in all of what a mask is to hide."""
    small = {"strategy__name": strategy, "federation__rounds": 1, "strategy__optimizer": "sgd"}
    if strategy == "fedsgd":
        small |= {"strategy__name": "fedavg", "strategy__steps": 1}
    config = run_config(**{**MASKED, **small, "privacy__mode": mode})
    folder = run(config)
    masked = vectors(replies)
    replies.clear()
    run({**config, "privacy.name": "none", "output": f"{folder}-bare"})
    bare = vectors(replies)
    assert masked.keys() == bare.keys()
    hidden, end = {}, 0
    for name, part in json.loads((folder / "results.json").read_text())["privacy"]["parts"].items():
        start, end = end, end + part["size"]
        if part["operation"] in ("flood", "uniformise"):
            hidden[name] = slice(start, end)
    assert "layers.0.node_projection" in hidden
    for key in bare:
        for name, span in hidden.items():
            if name == "layers.1.edge_projection":
                continue  # in so short a run, it moves by less than a weight's last place
            # Noise may be a few units of that place: now and then it rounds to none.
            assert (masked[key][span] == bare[key][span]).mean() < 0.3, (key, name)


COUNTS = {"steps", "graphs", "nodes"}


@pytest.mark.parametrize(
    ("privacy", "kept"),
    [
        ("none", {"loss", "term", "proximal", "update_norm", *COUNTS}),
        ("aegis", {"loss", "term", *COUNTS}),
        ("aegis_extended", COUNTS),
    ],
)
def test_replies_hold_no_figure_that_a_mask_keeps(run_config, replies, privacy, kept):
    run(run_config(privacy__name=privacy, privacy__level="bbp", federation__rounds=1))
    metrics = [reply["metrics"] for reply in replies if "arrays" in reply]
    assert len(metrics) == 4
    for told in metrics:
        trained = {name for name in told if not name.startswith("mask.")}
        assert trained == kept | {"simulated_seconds"}
        assert (told["nodes"] == told["graphs"]) is (privacy == "aegis_extended")


def test_few_graphs_in_a_large_silo_are_few(run_config):
    """One step of four: 4 graphs are trained on of the 12 that a client has."""
    few = {"strategy__steps": 1, "strategy__batch_size": 4}
    with pytest.raises(FederationError, match=r"at least 5 graphs.*got 4"):
        run(run_config(**MASKED, **few, privacy__minimum_graphs=5))


@pytest.mark.parametrize("strategy", ["scaffold", "feddc"])
def test_a_control_variate_is_masked_too_and_stays_the_clients_mean(run_config, strategy):
    """c = (1 / N) sum of c_k, though what was sent of every c_k was masked."""
    from client.state import ClientState

    folder = run(run_config(**MASKED, strategy__name=strategy))
    own = [
        ClientState(folder / "clients" / site).load(3)["control"]
        for site in ("a-0", "a-1", "b-0", "b-1")
    ]
    newest = sorted((folder / "checkpoints").iterdir())[-1]
    control = safetensors.numpy.load_file(newest)["strategy/control"]
    assert control == pytest.approx(sum(own) / 4, abs=1e-5)


@pytest.mark.parametrize("privacy", ["aegis", "aegis_extended"])
@pytest.mark.parametrize("strategy", ["scaffold", "feddc"])
def test_noise_of_earlier_rounds_is_not_masked_again(run_config, replies, strategy, privacy):
    """A control variate is as loud in the last round as in the first, up to its mean's share."""
    run(run_config(**{**MASKED, "privacy__name": privacy}, strategy__name=strategy))
    lengths = [
        float(np.linalg.norm(reply["arrays"]["control_change"].numpy()))
        for reply in replies
        if "arrays" in reply
    ]
    assert len(lengths) == 12
    # c_k+ - c_k holds the noise of two rounds from the second on: sqrt(2) of the first's length.
    assert max(lengths[8:]) < 2 * max(lengths[:4])


@pytest.mark.parametrize("mode", ["delta", "gradient"])
@pytest.mark.parametrize("fault", ["raises", "not finite"])
def test_a_mask_that_fails_lets_nothing_out(run_config, monkeypatch, replies, mode, fault):
    """Each failure is forced inside the mask; replies then hold an error and no arrays."""

    def broken(parts, gradients, *rest):
        if fault == "raises":
            raise PrivacyError("forced")
        return mask(parts, [gradient * np.nan for gradient in gradients], *rest)

    monkeypatch.setattr("privacy.update_mask.mask", broken)
    with pytest.raises(FederationError, match="forced" if fault == "raises" else "NaN"):
        run(run_config(**MASKED, privacy__mode=mode))
    assert replies
    assert not any("arrays" in content for content in replies)


def test_a_client_with_few_graphs_exports_nothing(run_config):
    with pytest.raises(FederationError, match=r"at least 500 graphs.*privacy\.minimum_graphs"):
        run(run_config(**MASKED, privacy__minimum_graphs=500))


def test_a_site_refuses_a_run_below_its_floor(run_config, make_silo, tmp_path):
    """Two real sites' node configs; one asks for aegis and the run has none."""
    silos = [make_silo((name,), name=f"silo-{name}") for name in ("a", "b")]
    roster = tmp_path / "roster.json"
    roster.write_text(
        json.dumps({"sites": [{"site": name, "domain": name} for name in ("a", "b")]})
    )
    nodes = [
        {"site": name, "data-path": str(silo.path)}
        for name, silo in zip(("a", "b"), silos, strict=True)
    ]
    nodes[1]["require-privacy"] = "aegis"
    config = run_config(
        federation__roster=str(roster), federation__clients=2, federation__minimum_clients=2
    )
    with pytest.raises(FederationError, match=r"site b.*privacy=aegis or more.*privacy\.name is"):
        run(config, nodes)
    misspelt = [nodes[0], {**nodes[1], "require_privacy": "aegis"}]
    with pytest.raises(FederationError, match="expected the key require-privacy, got require_pri"):
        run({**config, "output": str(tmp_path / "misspelt")}, misspelt)
    masked = {"privacy.name": "aegis", "privacy.minimum_graphs": 16}
    folder = run({**config, **masked, "output": str(tmp_path / "masked")}, nodes)
    # A site's noise is never repeated, so all that can be said is that it was there.
    record = json.loads((folder / "results.json").read_text())["privacy"]
    assert record["parts"]["layers.0.node_projection"]["norm_over_sigma"] > 0
