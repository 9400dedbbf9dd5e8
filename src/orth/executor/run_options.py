"""A local run as it is written on a command line; both ``orth run`` and ``python jobs.py run`` understand it.

Nothing heavy is imported here: ``orth run --help`` must answer at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWords:
    """What was written."""

    words: tuple[str, ...] = ()
    """``name=value``, one per argument."""
    param: str | None = None
    shard: str | None = None
    schedule_time: str | None = None
    timeout: int | None = None


_OPTIONS = (
    click.argument("words", metavar="[k=v]…", nargs=-1),
    click.option("--param", metavar="TEXT", help="The parameter as text (mostly JSON), instead of k=v."),
    click.option("--shard", metavar="I/N", help="Be shard I of N, such as 0/3."),
    click.option("--schedule-time", metavar="ISO", help="Be due at that time."),
    click.option("--timeout", metavar="SECONDS", type=click.IntRange(min=0), help="Its time limit; 0 is none."),
)


def run_options(command: Command) -> Command:
    """Give a command the options of a run; it receives them by the names of ``RunWords``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
