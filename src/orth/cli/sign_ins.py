"""What ``orth login`` remembers: one sign-in per server, in a file only its owner can read.

The file is ``sign-ins.json`` in ``$ORTH_HOME``, else ``$XDG_CONFIG_HOME/orth``, else ``~/.config/orth``. It is replaced
as a whole, so that two commands that refresh at once leave one of two good files. One that others may read is refused:
it must be treated as known to them.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from orth.errors import Invalid

_OTHERS = 0o077


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
        self._write(self._stored() | {server: asdict(sign_in)})

    def forget(self, server: str) -> bool:
        """Drop the sign-in of a server; False when there was none."""
        stored = self._stored()
        if stored.pop(server, None) is None:
            return False
        self._write(stored)
        return True

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
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".sign-ins-")  # made readable by its owner alone
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(stored, file, indent=2)
        os.replace(name, self.path)
