"""``orth server``: one coordinator, in the foreground."""

import sys
from pathlib import Path

import click

from orth.cli.options import coordinator_dir_option, process_options, store_option
from orth.cli.starting import arm_failpoints, needing_extra, start_process, wait_for_turn
from orth.collecting import importing


@click.command()
@click.option("--listen", metavar="HOST:PORT", help="Where it serves API, console and executors.")
@store_option
@click.option("--channels", metavar="URL", help="memory://, database:// or redis://host:port/n.")
@click.option("--node-id", metavar="ID", help="Its name in the cluster.")
@coordinator_dir_option
@click.option(
    "--roles", metavar="ROLE,…", help="all; or registry (only the Registry API), console (only what people use)."
)
@process_options
def server(
    listen: str | None,
    store: str | None,
    channels: str | None,
    node_id: str | None,
    data_dir: str | None,
    roles: str | None,
    config: Path | None,
    log_level: str,
) -> None:
    """Run a coordinator.

    It stays in the foreground, logs to standard error, and gives up the lead when it is stopped by SIGTERM.
    """
    options = {
        "coordinator.listen": listen,
        "store.url": store,
        "channels.url": channels,
        "coordinator.node_id": node_id,
        "coordinator.data_dir": data_dir,
        "coordinator.roles": roles,
    }
    settings = start_process(options, config=config, log_level=log_level)
    arm_failpoints()
    with needing_extra("server"), importing():
        from orth.coordinator.node import serve
    wait_for_turn()
    sys.exit(serve(settings))
