"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from orth.cli.log_setup import LEVELS

F = TypeVar("F", bound=Callable[..., Any])

config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Settings file.  [default: $ORTH_CONFIG, else orth.toml if there is one]",
)

log_level_option = click.option(
    "--log-level",
    type=click.Choice(LEVELS, case_sensitive=False),
    envvar="ORTH_LOG_LEVEL",
    default="info",
    show_default=True,
    help="What is logged to standard error.",
)

store_option = click.option("--store", metavar="URL", help="Database: sqlite:///…, postgresql://… or mysql://….")

coordinator_dir_option = click.option("--data-dir", metavar="DIR", help="Where the coordinator keeps files.")


def process_options(command: F) -> F:
    """The options of every command that runs until it is stopped."""
    return config_option(log_level_option(command))
