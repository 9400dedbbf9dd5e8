"""``orth run``: one handler, once, here."""

import sys
from typing import Any

import click

from orth.executor.run_options import RunWords, run_options


@click.command()
@click.argument("target", metavar="FILE:HANDLER")
@run_options
def run(target: str, **words: Any) -> None:
    """Carry out one handler here, without a coordinator.

    Its log goes to standard output as it is written, and then its status. Exit code: 0 Success, 10 Failed, 11 Timeout.
    """
    from orth.executor.author_commands import run_here
    from orth.executor.loading import load_handler

    sys.exit(run_here(load_handler(target), RunWords(**words)))
