"""Files of kits: written only where they change, and no private key overwritten unasked."""

from pathlib import Path

from fglguard.errors import OutputError
from fglguard.files import write_atomically

PUBLIC, EXECUTABLE, PRIVATE = 0o644, 0o755, 0o600


def put(path: Path, content: str | bytes, mode: int = PUBLIC) -> bool:
    """Write a file unless it is there with this content and mode; whether it was written."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == data and path.stat().st_mode & 0o777 == mode:
        return False
    with write_atomically(path, mode) as file:
        file.write(data)
    return True


def put_new_private(path: Path, content: bytes) -> None:
    """Write a private key where there is none, readable by its owner alone.

    Raises:
        OutputError: There is one.
    """
    if path.exists():
        raise OutputError(f"{path}: there is a private key already; it is not overwritten")
    replace_private(path, content)


def replace_private(path: Path, content: bytes) -> None:
    """Write a private key over another: only for a rotation that somebody asked for by name."""
    with write_atomically(path, PRIVATE) as file:
        file.write(content)


def make_private_folder(path: Path) -> None:
    """A folder that its owner alone may enter."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o700)
