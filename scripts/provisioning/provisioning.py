"""From a consortium file to kits, and again after each change of it."""

from pathlib import Path

from cryptography import x509

from fglguard.errors import FederationError, SettingsError, suggestion
from scripts.provisioning.certificates import (
    authority_certificate,
    load_certificate,
    names_as_written,
    names_of,
    new_key,
    server_certificate,
    server_names,
)
from scripts.provisioning.consortium import Consortium, Site
from scripts.provisioning.key_pairs import (
    new_bundle_key,
    new_site_key,
    public_text_of,
    site_public_text,
)
from scripts.provisioning.kit_files import (
    make_private_folder,
    put,
    put_new_private,
    replace_private,
)
from scripts.provisioning.kits import write_host_kit, write_site_kit
from scripts.provisioning.layout import (
    AUTHORITY,
    BUNDLE_KEY,
    BUNDLE_PUBLIC_KEY,
    CA_CERTIFICATE,
    CA_KEY,
    HOST,
    LEDGER,
    REVOKED,
    SERVER_CERTIFICATE,
    SERVER_KEY,
    SITE_KEY,
)
from scripts.provisioning.ledger import Ledger, read_ledger, write_ledger


class Provisioning:
    """One run of provisioning; `notes` tells a person what it did.

    Args:
        consortium: What the file says.
        kits: The folder of all kits.
        rotate: Sites, or `host`, that get new keys.

    Raises:
        SettingsError: `rotate` names nobody.
    """

    def __init__(self, consortium: Consortium, kits: Path, rotate: tuple[str, ...] = ()) -> None:
        self.consortium, self.kits, self.rotate = consortium, kits, rotate
        self.notes: list[str] = []
        known = [HOST, *(site.name for site in consortium.sites)]
        for name in rotate:
            if name not in known:
                raise SettingsError(
                    f"--rotate: expected one of {', '.join(known)}, got {name!r}"
                    f"{suggestion(name, known)}"
                )

    def run(self) -> None:
        """Make what is missing, and change only what the consortium file changed.

        Raises:
            FederationError: A key or certificate that is there is damaged, or a site brings a key
                that is not usable.
            OutputError: A private key would be overwritten.
        """
        authority, host = self.kits / AUTHORITY, self.kits / HOST
        # Everything that people can get wrong comes before the first file is written.
        brought = {site.name: _brought_key(site) for site in self.consortium.sites}
        ledger = read_ledger(authority / LEDGER)
        self._revoke(ledger)
        for site in self.consortium.sites:
            if key := brought[site.name]:
                self._require_same(ledger, site.name, key)
                ledger.accept(site.name, key)
                self._drop_private(site.name, key)
        make_private_folder(authority)
        certificate = self._authority(authority)
        for site in self.consortium.sites:
            if brought[site.name] is None:
                self._own_key(ledger, site.name)
        write_ledger(authority / LEDGER, ledger)
        self._put_away(ledger)
        bundle_key = self._host_keys(host, certificate)
        text = (authority / CA_CERTIFICATE).read_bytes()
        write_host_kit(host, self.consortium, ledger, text, bundle_key)
        for site in self.consortium.sites:
            key = ledger.keys[site.name]
            kit = self.kits / site.name
            write_site_kit(kit, self.consortium, site, key, text, bundle_key)

    def _revoke(self, ledger: Ledger) -> None:
        names = {site.name for site in self.consortium.sites}
        for name in list(ledger.keys):
            if name not in names:
                ledger.revoke(name)
                self.notes.append(f"{name}: left the consortium; its key is revoked")
            elif name in self.rotate:
                ledger.revoke(name)
                self.notes.append(f"{name}: its old key is revoked; it needs its new kit")

    def _drop_private(self, site: str, key: str) -> None:
        """A site that brings its key from now on needs no private one that was made here."""
        path = self.kits / site / SITE_KEY
        if path.exists() and public_text_of(path.read_bytes(), path) != key:
            path.unlink()

    def _require_same(self, ledger: Ledger, site: str, key: str) -> None:
        if ledger.keys.get(site, key) != key:
            raise FederationError(
                f"site {site}: public_key: expected the key that it had, got another; if it is "
                f"to be replaced, say --rotate {site}"
            )

    def _own_key(self, ledger: Ledger, site: str) -> None:
        """The key pair of a site that brings none: made once, and again only for a rotation."""
        path = self.kits / site / SITE_KEY
        if site in ledger.keys:
            if not path.exists():
                # Handed over and deleted here, as it should be.
                return
            if public_text_of(path.read_bytes(), path) != ledger.keys[site]:
                raise FederationError(
                    f"{path}: expected the private key of the site's public one, got another; "
                    f"remove it, or say --rotate {site}"
                )
            return
        retired = {key for name, key in ledger.revoked if name == site}
        if path.exists() and public_text_of(path.read_bytes(), path) not in retired:
            # An earlier run wrote it and was interrupted before it wrote the ledger.
            ledger.accept(site, public_text_of(path.read_bytes(), path))
            return
        make_private_folder(path.parent)
        private = new_site_key()
        (replace_private if path.exists() else put_new_private)(path, private)
        ledger.accept(site, public_text_of(private, path))
        self.notes.append(f"{site}: new key pair; hand over {path.parent} and delete it here")

    def _authority(self, folder: Path) -> x509.Certificate:
        key, certificate = folder / CA_KEY, folder / CA_CERTIFICATE
        if certificate.exists() and key.exists():
            return load_certificate(certificate)
        name, days = self.consortium.name, self.consortium.lifetimes.authority
        if certificate.exists() or (folder / LEDGER).exists():
            raise FederationError(
                f"{folder}: expected {CA_KEY} and {CA_CERTIFICATE} beside the record of keys; "
                f"restore them from their backup: a new authority would lock out every site"
            )
        if not key.exists():
            # A key alone is what an interrupted first run leaves.
            put_new_private(key, new_key())
        put(certificate, authority_certificate(key.read_bytes(), name, days))
        self.notes.append(f"new certificate authority in {folder}: keep it off the network")
        return load_certificate(certificate)

    def _host_keys(self, host: Path, authority: x509.Certificate) -> str:
        """Server certificate and bundle key of the host; the latter's public text."""
        host.mkdir(parents=True, exist_ok=True)
        key, certificate = host / SERVER_KEY, host / SERVER_CERTIFICATE
        if not key.exists() or HOST in self.rotate:
            # First the certificate: one without its key would be kept by the next run.
            certificate.unlink(missing_ok=True)
            replace_private(key, new_key())
        names = names_as_written(server_names(self.consortium.host))
        if not certificate.exists() or names_of(load_certificate(certificate)) != names:
            signer = (self.kits / AUTHORITY / CA_KEY).read_bytes()
            days = self.consortium.lifetimes.server
            put(
                certificate,
                server_certificate(key.read_bytes(), self.consortium.host, days, authority, signer),
            )
            self.notes.append(f"host: new server certificate for {', '.join(names)}")
        bundle = host / BUNDLE_KEY
        if not bundle.exists():
            put_new_private(bundle, new_bundle_key())
        text = public_text_of(bundle.read_bytes(), bundle)
        put(host / BUNDLE_PUBLIC_KEY, f"{text}\n")
        return text

    def _put_away(self, ledger: Ledger) -> None:
        """Move kits of sites that left, so that no one starts them by mistake."""
        for name in {site for site, _ in ledger.revoked} - set(ledger.keys):
            kit = self.kits / name
            if kit.is_dir():
                make_private_folder(self.kits / REVOKED)
                number = sum(1 for _ in (self.kits / REVOKED).glob(f"{name}-*")) + 1
                kit.rename(self.kits / REVOKED / f"{name}-{number}")


def _brought_key(site: Site) -> str | None:
    if site.public_key is None:
        return None
    try:
        content = site.public_key.read_bytes()
    except OSError as error:
        raise FederationError(
            f"site {site.name}: public_key: {site.public_key} can't be read: {error.strerror}"
        ) from error
    return site_public_text(content, f"site {site.name}: public_key: {site.public_key}")
