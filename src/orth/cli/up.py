"""``orth up``: everything on this machine, with one command."""

import sys
from pathlib import Path

import click

from orth.cli.options import process_options
from orth.cli.starting import needing_extra, start_process


@click.command()
@click.option("--executors", type=click.IntRange(min=0), metavar="N", help="How many executors.")
@click.option("--coordinators", type=click.IntRange(min=1), metavar="N", help="How many coordinators.")
@click.option("--demo/--no-demo", default=None, help="Create the demo jobs, or not.")
@click.option("--ephemeral", is_flag=True, help="Keep nothing: work in a directory that is removed at the end.")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="Port of the first coordinator.")
@process_options
def up(
    executors: int | None,
    coordinators: int | None,
    demo: bool | None,
    ephemeral: bool,
    port: int | None,
    config: Path | None,
    log_level: str,
) -> None:
    """Start coordinators and executors on this machine."""
    options = {
        "apphost.executors": executors,
        "apphost.coordinators": coordinators,
        "apphost.demo": demo,
        "coordinator.listen": None if port is None else f"127.0.0.1:{port}",
    }
    settings = start_process(options, config=config, log_level=log_level)
    with needing_extra("server"):
        from orth.apphost.up import up as bring_up
    sys.exit(bring_up(settings, ephemeral=ephemeral))
