"""``orth doctor``: what usually goes wrong, looked at in one go."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from orth.cli.api_client import ApiChoice, api_options
from orth.cli.output import output_option, show_list
from orth.errors import BadSettings, Invalid

if TYPE_CHECKING:
    from orth.doctor import Case, Verdict

_COLOURS = {"ok": "green", "warn": "yellow", "bad": "red"}


@click.command()
@click.option("--check", "checks", multiple=True, metavar="NAME", help="Only this check; may be given several times.")
@click.option("--list", "listing", is_flag=True, help="List the checks and end.")
@output_option
@api_options
def doctor(api: ApiChoice, checks: tuple[str, ...], listing: bool, output: str) -> None:
    """Look for what usually goes wrong, and say what to do.

    Nothing is changed. The exit code is 1 if something is bad; a warning alone is not.
    """
    from orth.doctor import CHECKS, State, examine

    if listing:
        known = [{"id": name, "tells": check.summary} for name, check in CHECKS.items()]
        show_list(known, output, {"check": lambda one: one["id"], "tells whether": lambda one: one["tells"]})
        return
    unknown = [name for name in checks if name not in CHECKS]
    if unknown:
        raise click.BadParameter(f"there is no check {unknown[0]!r}. There are: {', '.join(CHECKS)}.")
    verdicts = examine(_case(api), checks or CHECKS)
    if output == "table":
        _tell(verdicts)
    else:
        show_list([_item(one) for one in verdicts], output, {})
    sys.exit(1 if any(one.state is State.BAD for one in verdicts) else 0)


def _case(api: ApiChoice) -> "Case":
    from orth.cli.starting import settings_of
    from orth.clock import SystemClock
    from orth.doctor import Case
    from orth.settings import Settings

    try:
        settings = settings_of({}, api.config)
    except BadSettings as wrong:
        return Case(Settings(), SystemClock(), bad_settings=tuple(wrong.problems))
    try:
        server, token, run = api.url, api.token(), api.run_here
    except Invalid as wrong:  # an address, or a file of sign-ins, that is none
        return Case(settings, SystemClock(), bad_settings=(str(wrong),))
    if run is None:
        return Case(settings, SystemClock(), server=server, api_token=token)
    return Case(settings, SystemClock(), server=server, api_token=token, ca_file=run.ca_file, listening=run.listening)


def _item(verdict: "Verdict") -> dict[str, str]:
    return {"id": verdict.check, "state": verdict.state.value, "what": verdict.what, "next": verdict.next}


def _tell(verdicts: "Sequence[Verdict]") -> None:
    width = max((len(one.check) for one in verdicts), default=0)
    for one in verdicts:
        state = click.style(f"{one.state.value:<4}", fg=_COLOURS[one.state.value])
        click.echo(f"{state}  {one.check:<{width}}  {_plain(one.what)}")
        if one.next:
            click.echo(f"{'':<{width + 6}}  → {_plain(one.next)}")
    counts = [sum(one.state.value == state for one in verdicts) for state in _COLOURS]
    click.echo("\n{} fine, {} to look at, {} bad.".format(*counts))


def _plain(text: str) -> str:
    """On one line, and without anything a terminal would obey: some of it was said by others."""
    return "".join(c if c.isprintable() else " " for c in text)
