"""``orth executor``: one executor, in the foreground."""

import sys
from pathlib import Path

import click

from orth.cli.options import process_options
from orth.cli.starting import arm_failpoints, start_process


@click.command()
@click.argument("target", metavar="FILE|MODULE")
@click.option("--app-name", metavar="NAME", help="Group it belongs to.  [default: the name in the code]")
@click.option("--listen", metavar="HOST:PORT", help="Where it takes triggers.")
@click.option("--address", metavar="URL", help="Under which coordinators reach it.  [default: from --listen]")
@click.option("--coordinators", metavar="URL,…", help="Whom it registers with and reports to.")
@click.option("--transport", type=click.Choice(["push", "queue", "link"]), help="How work arrives.")
@click.option("--queue", metavar="QUEUE", help="Queue it competes on with --transport queue.")
@click.option("--data-dir", metavar="DIR", help="Where it keeps logs and unsent results.")
@process_options
def executor(
    target: str,
    app_name: str | None,
    listen: str | None,
    address: str | None,
    coordinators: str | None,
    transport: str | None,
    queue: str | None,
    data_dir: str | None,
    config: Path | None,
    log_level: str,
) -> None:
    """Run an executor for the jobs of a file or module.

    It stays in the foreground, logs to standard error, and lets running executions end when it is stopped by SIGTERM.
    """
    options = {
        "executor.app_name": app_name,
        "executor.listen": listen,
        "executor.address": address,
        "executor.coordinators": coordinators,
        "executor.transport": transport,
        "executor.queue": queue,
        "executor.data_dir": data_dir,
    }
    settings = start_process(options, config=config, log_level=log_level)
    arm_failpoints()
    from orth.executor.process import run_executor

    sys.exit(run_executor(target, settings))
