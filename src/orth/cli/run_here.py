"""The ``orth up`` of the folder a command is called in, if one runs: whom to talk to when nobody has said."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orth.cli.starting import needing_extra
from orth.errors import OrthError

if TYPE_CHECKING:
    from orth.settings import Settings

_LOCK = "up.lock"
_PASSWORD_FILE = "admin-password"  # noqa: S105  # the name of the file
_AUTHORITY = Path("tls/ca.pem")


@dataclass(frozen=True, slots=True)
class RunHere:
    """What commands need to know of it."""

    api: str
    console: str
    ca_file: Path | None
    """Whose certificates its addresses show, if they speak TLS."""
    listening: tuple[str, ...]
    """Where its processes listen, as ``HOST:PORT``."""
    password_file: Path | None = None
    """The file with the first password of ``admin``, if there is one."""


def find_run(settings: "Settings") -> RunHere | None:
    """The run of the data folder of these settings, unless they name coordinators: what somebody has written counts."""
    folder = Path(settings.coordinator.data_dir).resolve()
    if settings.origin("executor.coordinators") != "default" or not (folder / _LOCK).exists():
        return None
    with suppress(OrthError, ValueError, LookupError, TypeError):  # it is about to end, or of another version
        with needing_extra("server"):
            from orth.apphost.control import show
            from orth.apphost.place import Place
        place = Place(folder)
        if place.is_held:
            shown = show(place)
            authority = folder / _AUTHORITY if shown.api.startswith("https:") else None
            listening = tuple(row.address for row in shown.rows if row.address)
            file = folder / _PASSWORD_FILE
            return RunHere(shown.api, shown.console, authority, listening, file if file.exists() else None)
    return None
