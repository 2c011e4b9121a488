"""What to install where a framework is missing."""

from fglguard.errors import IntegrationError


def missing_package(package: str, install: str) -> IntegrationError:
    """The error of a module whose framework is not there.

    Args:
        package: What can't be imported.
        install: What `pip install` is to be given.
    """
    return IntegrationError(
        f"{package}: expected an installed package, found none; pip install '{install}'"
    )
