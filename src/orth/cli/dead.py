"""``orth exec dead``: executions that failed for good, done again or dropped; and how doing many is shown."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click

from orth.cli.api_client import ApiChoice, api_options
from orth.cli.output import output_option, show_list, show_one
from orth.cli.references import GROUP, JOB, with_ids

_F = TypeVar("_F", bound=Callable[..., Any])
AT_ONCE = 1_000
PERSON = {"Orth-Client": "cli"}
_SHOWN = 20

_FILTERS = (
    click.option("--job", "job_id", type=JOB, help="Filter by job: its id or GROUP/NAME."),
    click.option("--group", "job_group", type=GROUP, help="Filter by group of the job: its id or app name."),
    click.option(
        "--status", type=click.Choice(("failed", "timeout", "trigger_failed")), help="Only those that ended so."
    ),
    click.option("--reason", "reason_code", metavar="CODE", help="Only those with this reason code."),
    click.option("--since", metavar="AGE|INSTANT", help="Only those that ended since: 2h, or 2026-01-30T10:00:00Z."),
    click.option("--until", metavar="AGE|INSTANT", help="Only those that ended before."),
)


def _filter_options(command: _F) -> _F:
    for option in reversed(_FILTERS):
        command = option(command)
    return command


def many_options(command: _F) -> _F:
    """``--max`` and ``--dry-run``, for what is done to many."""
    limit = click.option(
        "--max",
        "maximum",
        type=click.IntRange(1, AT_ONCE),
        default=AT_ONCE,
        show_default=True,
        help="How many at most.",
    )
    return limit(click.option("--dry-run", is_flag=True, help="Only tell which; change nothing.")(command))


@click.group()
def dead() -> None:
    """Look at executions that failed for good, and settle them."""


@dead.command(name="list")
@_filter_options
@click.option("--state", type=click.Choice(("waiting", "replayed", "dropped")), help="Only those of which this became.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many, newest first.")
@output_option
@api_options
def list_(api: ApiChoice, limit: int, output: str, **wanted: object) -> None:
    """List them, newest first."""
    with api.client() as client:
        items = client.items("/api/v1/dead-letters", limit=limit, **with_ids(client, wanted))
        found = [{"id": one["execution_id"], **one} for one in items]
    show_list(
        found,
        output,
        {
            "execution": lambda one: one["execution_id"],
            "job": lambda one: one["job_id"],
            "status": lambda one: one["status"],
            "ended": lambda one: one["ended_at"],
            "state": lambda one: one["state"],
            "replayed by": lambda one: one["replayed_by"],
            "reason": lambda one: one["reason_code"],
            "message": lambda one: one["message"],
        },
    )


@dead.command()
@click.argument("execution_ids", type=int, nargs=-1)
@_filter_options
@many_options
@output_option
@api_options
def replay(api: ApiChoice, output: str, **asked: Any) -> None:
    """Do some of them again: those named, or those the options mean."""
    show_one(_settle(api, "replay", **asked), output, lambda done: many_done(done, "opened"))


@dead.command()
@click.argument("execution_ids", type=int, nargs=-1)
@_filter_options
@many_options
@output_option
@api_options
def drop(api: ApiChoice, output: str, **asked: Any) -> None:
    """Decide that nothing is to be done about some of them."""
    show_one(_settle(api, "drop", **asked), output, lambda done: many_done(done, "dropped"))


def _settle(
    api: ApiChoice, action: str, execution_ids: tuple[int, ...], maximum: int, dry_run: bool, **wanted: object
) -> Any:
    body = {"ids": list(execution_ids)} if execution_ids else None
    with api.client() as client:
        query = {**with_ids(client, wanted), "max": maximum, "dry_run": str(dry_run).lower()}
        return client.call("POST", f"/api/v1/dead-letters/{action}", body=body, query=query, headers=PERSON)


def many_done(done: dict[str, Any], what: str) -> Iterator[tuple[str, str]]:
    """What came of doing something to many, as titled lines."""
    listed = ", ".join(map(str, done["execution_ids"][:_SHOWN])) + (" …" if len(done["execution_ids"]) > _SHOWN else "")
    title = f"Would be {what}" if done["dry_run"] and what != "opened" else "Would be done" if done["dry_run"] else what
    yield title.capitalize(), f"{done['done']}" + (f"   {listed}" if listed else "")
    if done["skipped"]:
        yield "Skipped", str(done["skipped"])
    if done["left"]:
        yield "Left", f"{done['left']}: repeat the command to go on"
    elif done["next_after"] is not None:
        yield "Left", "not all was looked at: repeat the command to go on"
