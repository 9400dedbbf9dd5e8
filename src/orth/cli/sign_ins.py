"""What ``orth login`` remembers: one sign-in per server, in a file only its owner can read.

The file is ``sign-ins.json`` in ``$ORTH_HOME``, else ``$XDG_CONFIG_HOME/orth``, else ``~/.config/orth``. It is replaced
as a whole, so that whoever reads it sees a good one. One that others may read is refused: it must be treated as known
to them.

A refresh token can be used once. So whoever changes the file holds a lock beside it, and whoever refreshes looks, with
the lock held, whether another command has done so meanwhile.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from orth.errors import Invalid

_OTHERS = 0o077
_LOCK = "sign-ins.lock"


@dataclass(frozen=True, slots=True)
class SignIn:
    """The tokens of one server."""

    username: str
    access_token: str
    refresh_token: str


class SignIns:
    """The file, by server."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of_environment(cls, environ: Mapping[str, str]) -> Self:
        """The file of the person who calls."""
        if home := environ.get("ORTH_HOME"):
            return cls(Path(home) / "sign-ins.json")
        config = environ.get("XDG_CONFIG_HOME")
        folder = Path(config) if config else Path.home() / ".config"
        return cls(folder / "orth" / "sign-ins.json")

    def find(self, server: str) -> SignIn | None:
        stored = self._stored().get(server)
        return None if stored is None else SignIn(**stored)

    def keep(self, server: str, sign_in: SignIn) -> None:
        with self.held():
            self._write(self._stored() | {server: asdict(sign_in)})

    def forget(self, server: str) -> bool:
        """Drop the sign-in of a server; False when there was none."""
        if server not in self._stored():
            return False
        with self.held():
            stored = self._stored()
            del stored[server]
            self._write(stored)
        return True

    def renew(self, server: str, old: SignIn, refresh: Callable[[SignIn], SignIn | None]) -> SignIn | None:
        """The sign-in after ``old`` has run out: what another command has got for it, else what ``refresh`` gives."""
        with self.held():
            stored = self.find(server)
            if stored is not None and stored != old:
                return stored
            new = refresh(old)
            if new is not None:
                self._write(self._stored() | {server: asdict(new)})
            return new

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other commands from changing the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self.path.with_name(_LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.name == "posix":
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _stored(self) -> dict[str, dict[str, str]]:
        try:
            if os.name == "posix" and self.path.stat().st_mode & _OTHERS:
                raise Invalid(f"{self.path} can be read by others.", hint="Remove it and sign in again: orth login.")
            stored: dict[str, dict[str, str]] = json.loads(self.path.read_text(encoding="utf-8"))
            return stored
        except FileNotFoundError:
            return {}
        except ValueError:
            raise Invalid(f"{self.path} cannot be read.", hint="Remove it and sign in again: orth login.") from None

    def _write(self, stored: Mapping[str, object]) -> None:
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".sign-ins-")  # made readable by its owner alone
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(stored, file, indent=2)
        os.replace(name, self.path)
