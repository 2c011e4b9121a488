"""The encoder and the silo: the one installed; the other of one domain, and prepared with it."""

import shlex
from pathlib import Path

from fglguard.encoder import load_encoder
from fglguard.errors import EncoderError, SiloError
from fglguard.silo import Silo, open_silos
from scripts.provisioning.checks.finding import Finding, Findings, found
from scripts.provisioning.site_config import SiteConfig


def check_encoder(config: SiteConfig) -> Findings:
    """Whether the encoder that all agreed on is installed here."""
    try:
        load_encoder(config.encoder)
    except EncoderError as error:
        yield found(error, "install it; if site.toml names another than all agreed on, correct it")


def check_silo(config: SiteConfig) -> Findings:
    """A site's silo against its `site.toml`."""
    try:
        silos = open_silos(Path(config.data_path))
    except SiloError as error:
        yield found(error, "correct data-path in site.toml, or make the silo (docs/silos.md)")
        return
    domains = sorted({domain for silo in silos for domain in silo.domains})
    if domains != [config.domain]:
        yield Finding(
            f"{config.data_path} holds {', '.join(domains) or 'no domain'}, and the roster has "
            f"the domain {config.domain!r} for site {config.site}",
            "keep one domain a silo; if the roster is wrong, tell whoever makes the kits",
        )
    for silo in silos:
        yield from _preparation(silo, config.encoder)


def _preparation(silo: Silo, encoder: str) -> Findings:
    remedy = (
        f"fglguard corpus embed {shlex.quote(str(silo.path))} --encoder {encoder} "
        "--preset recommended"
    )
    windows = {mark: packed for name, mark, packed in silo.prepared() if name == encoder}
    if not windows:
        yield Finding(f"{silo.path} is not embedded with the encoder {encoder!r}", remedy)
    elif not any(windows.values()):
        yield Finding(f"{silo.path} has no packed graphs for the encoder {encoder!r}", remedy)
    else:
        yield from _fingerprint(silo, encoder, sorted(windows), remedy)


def _fingerprint(silo: Silo, encoder: str, marks: list[str], remedy: str) -> Findings:
    try:
        wanted = load_encoder(encoder).fingerprint
    except EncoderError:
        # Said by the check of the encoder itself.
        return
    if wanted not in marks:
        yield Finding(
            f"{silo.path} is embedded with {', '.join(marks)}, and the encoder {encoder!r} "
            f"installed here is {wanted}",
            f"install the version that all use, or {remedy}",
        )
