"""``orth down``: end the ``orth up`` of this folder."""

import os
import select
import signal
import threading
from contextlib import suppress
from pathlib import Path

import click

from orth.cli.options import config_option, coordinator_dir_option
from orth.cli.starting import needing_extra, settings_of
from orth.errors import OrthError, Unavailable

_LOOK_EVERY = 0.1
_AT_ONCE = 10.0
_PATIENCE = 180.0


@click.command()
@click.option("--now", is_flag=True, help="Kill everything instead of letting executions end.")
@coordinator_dir_option
@config_option
def down(now: bool, data_dir: str | None, config: Path | None) -> None:
    """Stop what `orth up` runs here, in good order."""
    settings = settings_of({"coordinator.data_dir": data_dir}, config)
    with needing_extra("server"):
        from orth.apphost.control import ask
        from orth.apphost.place import Place
    place = Place(Path(settings.coordinator.data_dir).resolve())
    place.need_held()
    standing = place.read()
    process = None if standing is None else _process(standing.pid)
    try:
        ask(place, do="down", now=now)
    except OrthError:
        if not now or standing is None:
            raise
        with suppress(ProcessLookupError):
            os.kill(standing.pid, signal.SIGKILL)  # it does not answer, and its processes die with it
    tries = round((_AT_ONCE if now else _PATIENCE) / _LOOK_EVERY)
    for _ in range(tries):
        if not place.is_held and (process is None or select.select([process], [], [], 0)[0]):
            click.echo("all stopped")
            return
        threading.Event().wait(_LOOK_EVERY)
    raise Unavailable(f"The orth up in {place.folder} has not ended.", hint="End it: orth down --now")


def _process(pid: int) -> int | None:
    """A file that can be read once the process has ended: it lets go of the folder a moment before."""
    with suppress(OSError):
        return os.pidfd_open(pid)
    return None
