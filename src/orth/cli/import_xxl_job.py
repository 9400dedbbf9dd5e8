"""``orth import``: take over the definitions of another scheduler."""

import json
import sys
from pathlib import Path

import click

from orth.cli.options import config_option, coordinator_dir_option, store_option
from orth.cli.starting import needing_extra, settings_of
from orth.errors import BadSettings


@click.group("import")
def import_() -> None:
    """Take over the jobs of another scheduler."""


@import_.command("xxl-job")
@click.option(
    "--from",
    "origin",
    required=True,
    envvar="ORTH_IMPORT_FROM",
    metavar="URL|FILE",
    help="mysql://user:password@host/xxl_job, or a JSON export.  [env: ORTH_IMPORT_FROM]",
)
@store_option
@coordinator_dir_option
@click.option("--timezone", metavar="ZONE", help="Time zone of the Java process of xxl-job, such as Asia/Shanghai.")
@click.option("--utc", is_flag=True, help="The same as --timezone UTC.")
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="[ID=]APP_NAME",
    help="Where the jobs of group ID belong, or of every group the export does not name.",
)
@click.option("--keep-running", is_flag=True, help="Start the jobs that ran over there.  [default: all are stopped]")
@click.option("--dry-run", is_flag=True, help="Say what would happen and change nothing.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="Form.")
@config_option
def xxl_job(
    origin: str,
    store: str | None,
    data_dir: str | None,
    timezone: str | None,
    utc: bool,
    groups: tuple[str, ...],
    keep_running: bool,
    dry_run: bool,
    output: str,
    config: Path | None,
) -> None:
    """Import groups, jobs, scripts and users of xxl-job (2.x, 3.x).

    Users arrive without passwords, jobs stopped. Jobs with cron expressions need --timezone or --utc. It may be
    repeated: what is already there is left alone, and a time zone that an earlier import got wrong is repaired. Exit
    code: 0 if anything of it is there now, 1 if nothing could be taken over.
    """
    if utc and timezone:
        raise click.UsageError("--timezone and --utc exclude each other.")
    settings = settings_of({"store.url": store, "coordinator.data_dir": data_dir}, config)
    with needing_extra("server"):
        from orth.clock import SystemClock
        from orth.importing.storing import Wishes
        from orth.importing.xxl_job import import_xxl_job

    report = import_xxl_job(
        origin,
        settings.store_url,
        timezone="UTC" if utc else timezone,
        wishes=Wishes(_app_names(groups), keep_running, settings.security.jobs_per_group),
        dry_run=dry_run,
        clock=SystemClock(),
    )
    if output == "json":
        click.echo(json.dumps(report.as_json(), indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(report.lines()))
    sys.exit(1 if report.fruitless else 0)


def _app_names(options: tuple[str, ...]) -> dict[int, str]:
    """``3=shop`` is the group 3 over there, ``shop`` alone (0) every other."""
    names: dict[int, str] = {}
    for option in options:
        number, _, app_name = option.partition("=") if "=" in option else ("0", "", option)
        if not (number.isascii() and number.isdigit() and len(number) <= 10 and app_name):
            raise BadSettings([f"--group {option!r}: write ID=APP_NAME or APP_NAME"])
        names[int(number)] = app_name
    return names
