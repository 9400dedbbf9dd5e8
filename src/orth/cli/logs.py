"""``orth logs``: the lines of what an ``orth up`` of this folder runs, or ran."""

import os
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orth.cli.options import config_option, coordinator_dir_option
from orth.cli.starting import settings_of
from orth.errors import NotFound

if TYPE_CHECKING:
    from orth.apphost.lines import Line

_LOOK_EVERY = 0.2


@click.command()
@click.argument("resource", required=False)
@click.option("--follow", "-f", is_flag=True, help="Go on until it ends.")
@click.option("--tail", "-n", type=click.IntRange(min=0), metavar="N", help="Only the last N lines of what is there.")
@coordinator_dir_option
@config_option
def logs(resource: str | None, follow: bool, tail: int | None, data_dir: str | None, config: Path | None) -> None:
    """Show the lines of all processes of `orth up`, or of one.

    They stay after it has ended, until the next one begins a file of its own.
    """
    from orth.apphost.lines import Follower, read_log
    from orth.apphost.place import Place

    folder = Path(settings_of({"coordinator.data_dir": data_dir}, config).coordinator.data_dir).resolve()
    follower = Follower(folder)
    follower.to_end()
    found = [line for line in read_log(folder) if resource in (None, line.name)]
    place = Place(folder)
    if not found and not (follow and place.is_held):
        raise NotFound("line of", resource or f"an orth up in {folder}")
    try:
        _print(found[-tail:] if tail else [] if tail == 0 else found, resource)
        while follow:
            lives = place.is_held
            _print(follower.new_lines(), resource)
            if not lives:
                return
            threading.Event().wait(_LOOK_EVERY)
    except KeyboardInterrupt:
        return
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left: no complaint at exit


def _print(lines: "Iterable[Line]", resource: str | None) -> None:
    for line in lines:
        if resource in (None, line.name):
            print(line.text if resource else line.plain(13))
    sys.stdout.flush()
