"""``orth up``: everything on this machine, with one command."""

import sys
from pathlib import Path

import click

from orth.cli.options import process_options
from orth.cli.starting import needing_extra, start_process

_TO_REGISTRY, _TO_CONSOLE, _TO_AGENTS = -20, -10, 10  # from the first coordinator: 5080 → 5060, 5070, 5090


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path), metavar="[APPHOST.PY]")
@click.option("--executors", "--agents", type=click.IntRange(min=0), metavar="N", help="How many executors (agents).")
@click.option("--coordinators", type=click.IntRange(min=1), metavar="N", help="How many coordinators.")
@click.option("--demo/--no-demo", default=None, help="Run the demo jobs where there is no jobs.py, or not.")
@click.option("--ephemeral", is_flag=True, help="Keep nothing: work in a directory that is removed at the end.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Port of the first coordinator; the others keep their distance from it. 0: any free ones.",
)
@click.option("--tls/--no-tls", default=None, help="Speak TLS, with certificates made for this folder.")
@click.option("--detach", "-d", is_flag=True, help="Run in the background; see `orth ps`, `orth logs`, `orth down`.")
@click.option("--plain", is_flag=True, help="Lines instead of a full screen, as in a pipe.")
@click.option("--behind", is_flag=True, hidden=True)
@process_options
def up(
    file: Path | None,
    executors: int | None,
    coordinators: int | None,
    demo: bool | None,
    ephemeral: bool,
    port: int | None,
    tls: bool | None,
    detach: bool,
    plain: bool,
    behind: bool,
    config: Path | None,
    log_level: str,
) -> None:
    """Start registry, coordinators, console and executors here.

    What is started comes from APPHOST.PY (or the apphost.py here), else from the section apphost of the settings. The
    executors run the jobs.py here, else the demo. If an `orth up` runs here already, its table is shown.
    """
    if detach and ephemeral:
        raise click.UsageError("--detach needs a folder that stays: leave --ephemeral out.")
    options = {
        "apphost.executors": executors,
        "apphost.coordinators": coordinators,
        "apphost.demo": demo,
        "apphost.tls": tls,
        **_ports(port),
    }
    settings = start_process(options, config=config, log_level=log_level)
    with needing_extra("server"):
        from orth.apphost.up import Choice
        from orth.apphost.up import detach as put_behind
        from orth.apphost.up import up as bring_up
    choice = Choice(settings, ephemeral=ephemeral, plain=plain, behind=behind, log_level=log_level)
    if detach:
        sys.exit(put_behind(choice, _without_detach(sys.argv[1:])))
    sys.exit(bring_up(choice, file))


def _ports(first: int | None) -> dict[str, int | None]:
    """Ports of everything when the first coordinator's is chosen; what would be below 1 is any free one."""
    if first is None:
        return {}
    return {
        "apphost.coordinator_port": first,
        "apphost.registry_port": max(0, first and first + _TO_REGISTRY),
        "apphost.console_port": max(0, first and first + _TO_CONSOLE),
        "apphost.executor_port": first and min(65535, first + _TO_AGENTS),
    }


def _without_detach(arguments: list[str]) -> list[str]:
    """This command line, for the process that stays."""
    return [word for word in arguments if word not in ("--detach", "-d")]
