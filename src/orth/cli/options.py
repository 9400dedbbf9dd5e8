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


class _Seconds(click.ParamType[int]):
    """Whole seconds, as a number or as a duration in the form of the settings."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from datetime import timedelta

        from orth.errors import Invalid
        from orth.settings.values import parse_duration

        if isinstance(value, int) or value.isdecimal():
            return int(value)
        try:
            seconds, rest = divmod(parse_duration(value), timedelta(seconds=1))
        except Invalid as refused:
            self.fail(str(refused), param, ctx)
        if rest:
            self.fail(f"{value!r} is not a whole number of seconds.", param, ctx)
        return seconds


SECONDS = _Seconds()

_KEY_LONGEST = 128


def _checked_key(_context: click.Context, _parameter: click.Parameter, key: str | None) -> str | None:
    # It travels as a header, where anything else means different things to different programs.
    if key is not None and not (key.isascii() and key.isprintable() and key == key.strip() and key):
        raise click.BadParameter("it may have ASCII letters, digits, signs and inner blanks only.")
    if key is not None and len(key) > _KEY_LONGEST:
        raise click.BadParameter(f"it has {len(key)} characters, and may have {_KEY_LONGEST}.")
    return key


def key_option(help_text: str) -> Callable[[F], F]:
    """The idempotency key of a request."""
    return click.option("--key", metavar="KEY", callback=_checked_key, help=help_text)


any_handler_option = click.option(
    "--any-handler", is_flag=True, help="Accept handlers that no executor has announced yet."
)
"""As ``any_handler``."""


def in_options(hint: str | None) -> str | None:
    """A hint of the API, with the option of ``any_handler_option`` in the place of the API's parameter."""
    return hint and hint.replace("?allow_unknown_handler=true", "--any-handler")


def process_options(command: F) -> F:
    """The options of every command that runs until it is stopped."""
    return config_option(log_level_option(command))
