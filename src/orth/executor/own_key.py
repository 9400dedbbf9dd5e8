"""The key of an executor: made once, kept in its data directory, known to it and to its coordinators."""

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from orth.errors import CannotStart

FILE = "executor-key"
_FORM = re.compile(r"[0-9a-f]{64}", re.ASCII)


def own_key(folder: Path) -> str:
    """The key in a data directory, in hex; it is made if there is none. Two processes that do so at once get the same
    key, and only one of them gets the lock of the folder afterwards.
    """
    file = folder / FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            _make(file)
        text = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotStart(f"The data folder {folder} cannot be written: {error}.") from None
    if _FORM.fullmatch(text) is None:
        raise CannotStart(
            f"{file} does not hold the key of an executor.", hint="Remove the file: the executor then enrols anew."
        )
    return text


def _make(file: Path) -> None:
    own = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        own.unlink()
    with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(secrets.token_hex(32) + "\n")
        out.flush()
        os.fsync(out.fileno())
    with suppress(FileExistsError):
        os.link(own, file)  # unlike a rename, this never replaces what another process has made
    own.unlink()
