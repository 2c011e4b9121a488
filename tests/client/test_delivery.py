"""A guard that the host sends: kept whole if the host has signed it, else not at all."""

import stat

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, RecordDict

from client.app import app
from fglguard.bundle import GUARD_FILE, MODEL_FILE, SIGNATURE_FILE, load_bundle, sign_bundle
from fglguard.files import sha256_of
from fglguard.signature import read_public_key
from scripts.generate_flower_config import composed
from server.delivery import GUARD_MESSAGE
from server.flower_internals import begin_run
from tests.fglguard.sidecar.conftest import write_bundle
from tests.fglguard.test_signature import write_key

FILES = (GUARD_FILE, MODEL_FILE, SIGNATURE_FILE)


@pytest.fixture
def signed(tmp_path):
    key = write_key(tmp_path / "host.key")
    bundle = write_bundle(tmp_path / "guard")
    sign_bundle(bundle, key)
    return bundle


@pytest.fixture
def site(tmp_path, signed):
    class Site:
        guards = tmp_path / "guards"
        config = {  # noqa: RUF012
            "site": "north",
            "data-path": str(tmp_path),
            "guards-path": str(tmp_path / "guards"),
            "host-key": (tmp_path / "host.pub").read_text(),
        }

        def send(self, run_folder="/srv/runs/first", **changes):
            files = {name: (signed / name).read_bytes() for name in FILES} | changes
            arrays = {
                name: Array(np.frombuffer(data, dtype=np.uint8))
                for name, data in files.items()
                if data
            }
            run = begin_run()
            content = RecordDict(
                {
                    "guard": ArrayRecord(arrays),
                    "config": ConfigRecord({"run_folder": run_folder}),
                }
            )
            context = Context(run.run_id, 2, dict(self.config), RecordDict(), composed())
            return app(Message(content, dst_node_id=2, message_type=GUARD_MESSAGE), context)

    return Site()


def changed(data):
    return data[:9] + bytes([data[9] ^ 1]) + data[10:]


def test_it_is_kept_for_its_owner_alone_and_the_latest_is_linked(site, signed, tmp_path):
    reply = site.send()
    assert reply.content["guard"]["sha256"] == sha256_of(signed / GUARD_FILE)
    kept = site.guards / "first"
    assert {name: (kept / name).read_bytes() for name in FILES} == {
        name: (signed / name).read_bytes() for name in FILES
    }
    assert {stat.S_IMODE((kept / name).stat().st_mode) for name in FILES} == {0o600}
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    load_bundle(site.guards / "latest", read_public_key(tmp_path / "host.pub"))
    site.send("/srv/runs/second")
    assert (site.guards / "latest").readlink().name == "second"
    assert sorted(path.name for path in site.guards.iterdir()) == ["first", "latest", "second"]


@pytest.mark.parametrize("name", FILES)
def test_a_changed_byte_of_any_file_is_refused_and_nothing_is_written(site, signed, name):
    reply = site.send(**{name: changed((signed / name).read_bytes())})
    assert reply.error.reason.startswith(
        "SignatureError: " if name != MODEL_FILE else "BundleError: "
    )
    assert str(site.guards / "first" / name) in reply.error.reason or name == GUARD_FILE
    assert not site.guards.exists()


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_missing_is_told(site, name):
    reply = site.send(**{name: b""})
    assert "expected the files guard.json, guard.json.sig, model" in reply.error.reason
    assert not site.guards.exists()


def test_another_keys_signature_is_refused_and_the_text_names_both(site, signed, tmp_path):
    before = read_public_key(tmp_path / "host.pub").fingerprint
    other = write_key(tmp_path / "other")
    sign_bundle(signed, other)
    told = site.send().error.reason
    assert f"{site.guards}/first/guard.json.sig" in told
    assert before in told
    assert read_public_key(tmp_path / "other.pub").fingerprint in told
    assert not site.guards.exists()


@pytest.mark.parametrize("run_folder", ["/srv/runs/..", "/", "/srv/a b", "/srv/latest"])
def test_a_name_that_leads_elsewhere_is_refused(site, run_folder):
    assert "run_folder: expected" in site.send(run_folder).error.reason
    assert not site.guards.exists()


def test_a_file_in_the_way_is_told_and_left_there(site, tmp_path):
    site.guards.write_text("mine")
    told = site.send().error.reason
    assert told.startswith("OutputError: ") and "first: the guard can't be written" in told
    assert site.guards.read_text() == "mine"


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"guards-path": "guards"}, "guards-path: expected an absolute path"),
        ({"host-key": None}, "expected host-key='ssh-ed25519 ...' beside guards-path"),
        ({"host-key": "ssh-rsa AAAA"}, "expected an Ed25519 public key"),
        ({"guards-path": None}, "no guard is wanted"),
        ({"guards-path": ""}, "no guard is wanted"),
        ({"guard-path": "/x"}, "expected the key guards-path, got guard-path"),
    ],
)
def test_a_site_says_what_is_wrong_with_its_node_config(site, config, told):
    site.config = {k: v for k, v in {**site.config, **config}.items() if v is not None}
    assert told in site.send().error.reason
