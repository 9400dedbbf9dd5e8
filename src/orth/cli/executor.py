"""``orth executor``: one executor, in the foreground."""

import sys
from pathlib import Path

import click

from orth.cli.log_setup import hide_in_log
from orth.cli.options import process_options
from orth.cli.starting import arm_failpoints, start_process, wait_for_turn
from orth.collecting import importing

RELOADS = ("drain", "hard")


@click.command()
@click.argument("target", metavar="FILE|MODULE")
@click.option("--app-name", metavar="NAME", help="Group it belongs to.  [default: the name in the code]")
@click.option("--listen", metavar="HOST:PORT", help="Where it takes triggers.")
@click.option("--address", metavar="URL", help="Under which coordinators reach it.  [default: from --listen]")
@click.option("--coordinators", metavar="URL,…", help="Whom it registers with and reports to.")
@click.option("--transport", type=click.Choice(["push", "queue"]), help="How work arrives.")
@click.option("--queue", metavar="QUEUE,…", help="Queues it competes on with --transport queue.")
@click.option("--data-dir", metavar="DIR", help="Where it keeps logs and unsent results.")
@click.option(
    "--reload",
    type=click.Choice(RELOADS),
    is_flag=False,
    flag_value="drain",
    metavar="[=hard]",
    help="Start again when a file changes: after its executions ended, or (=hard) at once.",
)
@click.option("--check", is_flag=True, help="Only load and check the jobs, and list them.")
@click.option(
    "--trial", is_flag=True, hidden=True, help="Only load the jobs, and say by the exit code that it went well."
)
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
    reload: str | None,
    check: bool,
    trial: bool,
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
    if check:
        sys.exit(_checked(target))
    if trial:
        sys.exit(_tried(target))
    settings = start_process(options, config=config, log_level=log_level)
    if reload is not None:
        sys.exit(_keep_reloading(target, hard=reload == "hard"))
    arm_failpoints()
    with importing():
        from orth.executor.context import hidden_here
        from orth.executor.process import run_executor

    hide_in_log(hidden_here)
    wait_for_turn()
    sys.exit(run_executor(target, settings))


def _checked(target: str) -> int:
    from orth.clock import SystemClock
    from orth.executor.author_commands import check_handlers
    from orth.executor.loading import load_handlers

    return check_handlers(load_handlers(target), SystemClock().now())


def _tried(target: str) -> int:
    from orth.executor.loading import load_handlers
    from orth.executor.reloading import LOADED

    load_handlers(target)
    return LOADED


def _keep_reloading(target: str, *, hard: bool) -> int:
    from orth.clock import SystemClock
    from orth.executor.reloading import run_reloading

    return run_reloading(target, _without_reload(sys.argv[1:]), hard=hard, clock=SystemClock())


def _without_reload(arguments: list[str]) -> list[str]:
    """This command line, for the process that is started again and again."""
    kept: list[str] = []
    previous = ""
    for word in arguments:
        is_value = previous == "--reload" and word in RELOADS
        if not is_value and word.partition("=")[0] != "--reload":
            kept.append(word)
        previous = word
    return kept
