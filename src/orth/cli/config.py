"""``orth config``: what the settings are, where they come from, and whether they fit together."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orth.cli.options import config_option
from orth.cli.starting import settings_of

if TYPE_CHECKING:
    from orth.settings import Settings


@click.group()
def config() -> None:
    """Show and check settings."""


@config.command()
@click.option("--show-origin", is_flag=True, help="Also say where each value comes from.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="Form.")
@config_option
def view(show_origin: bool, output: str, config: Path | None) -> None:
    """Show every setting with its value; secrets stay hidden."""
    settings = settings_of({}, config)
    click.echo(_as_json(settings, show_origin) if output == "json" else _as_table(settings, show_origin))


@config.command()
@config_option
def validate(config: Path | None) -> None:
    """Check the settings without starting anything."""
    settings = settings_of({}, config)
    for warning in settings.warnings:
        click.echo(f"orth: warning: {warning}", err=True)
    click.echo(f"The settings are valid ({settings.file or 'no settings file'}).")


def _as_json(settings: "Settings", show_origin: bool) -> str:
    from orth.settings import describe_settings, show

    shown: dict[str, object] = {}
    for key, *_ in describe_settings():
        value = show(settings.value(key))
        shown[key] = {"value": value, "origin": settings.origin(key)} if show_origin else value
    return json.dumps(shown, indent=2, ensure_ascii=False)


def _as_table(settings: "Settings", show_origin: bool) -> str:
    from orth.settings import as_text, describe_settings, show

    rows = [("SETTING", "VALUE", "ORIGIN")]
    rows += [(key, as_text(show(settings.value(key))) or "-", settings.origin(key)) for key, *_ in describe_settings()]
    shown = [row if show_origin else row[:2] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in shown)
