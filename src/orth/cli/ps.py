"""``orth ps``: what an ``orth up`` of this folder runs."""

from pathlib import Path

import click

from orth.cli.options import config_option, coordinator_dir_option
from orth.cli.output import output_option, show_list
from orth.cli.starting import needing_extra, settings_of


@click.command()
@output_option
@coordinator_dir_option
@config_option
def ps(output: str, data_dir: str | None, config: Path | None) -> None:
    """Show what `orth up` runs here.

    The exit code is 3 when nothing does.
    """
    settings = settings_of({"coordinator.data_dir": data_dir}, config)
    with needing_extra("server"):
        from orth.apphost.control import show
        from orth.apphost.drawing import plain_table
        from orth.apphost.place import Place
    place = Place(Path(settings.coordinator.data_dir).resolve())
    place.need_held()
    shown = show(place)
    if output == "table":
        click.echo(plain_table(shown.rows))
    else:
        show_list([{"id": row["name"], **row} for row in shown.to_json()["rows"]], output, {})
