"""``orth stats``: how executions ended, in numbers."""

from collections.abc import Iterator
from typing import Any

import click

from orth.cli.api_client import ApiChoice, api_options
from orth.cli.output import output_option, show_list, show_one
from orth.cli.references import GROUP, JOB, Reference, with_ids

_STATUSES = ("success", "failed", "timeout", "trigger_failed")


@click.command()
@click.option("--job", "job_id", type=JOB, help="Filter by job: its id or GROUP/NAME.")
@click.option("--group", "job_group", type=GROUP, help="Filter by group of the job: its id or app name.")
@click.option("--since", metavar="AGE|INSTANT", help="From when on: 2h, or 2026-01-30T10:00:00Z.  [default: 24h]")
@click.option("--by", "bucket", type=click.Choice(("hour", "day")), help="A line for each hour or day, in UTC.")
@click.option("--days", type=click.IntRange(1, 400), default=7, show_default=True, help="With --job alone: how many.")
@output_option
@api_options
def stats(
    api: ApiChoice,
    job_id: Reference | None,
    job_group: Reference | None,
    since: str | None,
    bucket: str | None,
    days: int,
    output: str,
) -> None:
    """Show how executions ended, in numbers.

    How many there were of each status, how long they took, and how many are open.
    """
    if bucket is None and job_id is not None and (since is not None or job_group is not None):
        raise click.UsageError("--job takes --days, or --by with --since.")
    with api.client() as client:
        ids = with_ids(client, {"job_id": job_id, "job_group": job_group})
        if bucket is not None:
            _show_parts(client.get("/api/v1/stats/histogram", since=since, bucket=bucket, **ids)["items"], output)
        elif job_id is not None:
            found = client.get(f"/api/v1/jobs/{ids['job_id']}/stats", days=days)
            show_one({"id": ids["job_id"], **found}, output, _lines)
            if output == "table":
                click.echo("")
                _show_parts(found["days"], output)
        else:
            found = client.get("/api/v1/stats", since=since, job_group=ids["job_group"])
            show_one({"id": "stats", **found}, output, _lines)


def _show_parts(parts: list[dict[str, Any]], output: str) -> None:
    columns = {"start": lambda one: one["start"]} | {
        status: (lambda one, status=status: one[status]) for status in _STATUSES
    }
    show_list([{"id": part["start"], **part} for part in parts] if output == "name" else parts, output, columns)


def _lines(one: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Since", one["since"]
    yield "Ended", f"{one['executions']}   " + "   ".join(f"{name} {one['ended'][name]}" for name in _STATUSES)
    rate = one["success_rate"]
    yield "Success rate", "-" if rate is None else f"{rate:.1%}"
    yield "Mean time", _seconds(one["mean_ms"])
    yield "Longest", _seconds(one["longest_ms"])
    counts = one["open"]
    phases = ", ".join(f"{name} {count}" for name, count in counts["phases"].items() if count)
    yield "Open", f"init {counts['init']}   pending {counts['pending']}" + (f"   ({phases})" if phases else "")


def _seconds(ms: int | None) -> str:
    return "-" if ms is None else f"{ms / 1000:.3f} s"
