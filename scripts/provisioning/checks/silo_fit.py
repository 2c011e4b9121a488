"""The silo: it opens, holds the roster's one domain, and is prepared with the encoder."""

from pathlib import Path

from fglguard.errors import SiloError
from fglguard.silo import open_silos
from scripts.provisioning.checks.finding import Finding, Findings, found
from scripts.provisioning.site_config import SiteConfig


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
        windows = [packed for name, _, packed in silo.prepared() if name == config.encoder]
        if not any(windows):
            state = "has no packed graphs for" if windows else "is not embedded with"
            yield Finding(
                f"{silo.path} {state} the encoder {config.encoder!r}",
                f"fglguard corpus embed '{silo.path}' --encoder {config.encoder} "
                "--preset recommended",
            )
