"""``orth exec``: what ran, what runs, why something did not, doing it again, and ending what should not."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click

from orth.cli.api_client import ApiChoice, api_options
from orth.cli.dead import PERSON, dead, many_done, many_options
from orth.cli.exec_log import log
from orth.cli.options import key_option
from orth.cli.output import output_option, show_list, show_one
from orth.cli.references import GROUP, JOB, with_ids

_F = TypeVar("_F", bound=Callable[..., Any])
STATUSES = ("init", "pending", "success", "failed", "timeout", "trigger_failed", "cancelled")


class Statuses(click.Choice[str]):
    """One status, or several with commas between them; as the API takes them."""

    def __init__(self) -> None:
        super().__init__(STATUSES)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return ",".join(super(Statuses, self).convert(one.strip(), param, ctx) for one in value.split(","))


CAUSES = ("cron", "fixed_rate", "fixed_delay", "at", "manual", "api", "parent", "retry", "misfire", "batch")

_FILTERS = (
    click.option("--job", "job_id", type=JOB, help="Filter by job: its id or GROUP/NAME."),
    click.option("--group", "job_group", type=GROUP, help="Filter by group of the job: its id or app name."),
    click.option("--status", type=Statuses(), help="Only those with this status, or one of several: failed,timeout."),
    click.option("--executor", metavar="URL", help="Only those sent to this address."),
    click.option("--cause", type=click.Choice(CAUSES), help="Only those opened by this."),
    click.option("--batch", "batch_id", type=int, metavar="ID", help="Only those of this batch."),
    click.option("--since", metavar="AGE|INSTANT", help="Only those triggered since: 2h, or 2026-01-30T10:00:00Z."),
    click.option("--until", metavar="AGE|INSTANT", help="Only those triggered before."),
    click.option("--text", help="Only those with this in a message or the parameter."),
)


def filter_options(command: _F) -> _F:
    """The options that say which executions are meant; the command gets them by the names the API has for them."""
    for option in reversed(_FILTERS):
        command = option(command)
    return command


@click.group()
def exec() -> None:  # the name of the command; the function of that name is not used here
    """Look at executions, and end them."""


@exec.command(name="list")
@filter_options
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many.")
@click.option(
    "--sort",
    type=click.Choice(["opened", "duration"]),
    default="opened",
    show_default=True,
    help="Newest first; or the longest first, of the newest thousands.",
)
@output_option
@api_options
def list_(api: ApiChoice, limit: int, sort: str, output: str, **wanted: object) -> None:
    """List executions, newest first."""
    with api.client() as client:
        found = list(client.items("/api/v1/executions", limit=limit, sort=sort, **with_ids(client, wanted)))
    show_list(
        found,
        output,
        {
            "id": lambda one: one["id"],
            "job": lambda one: f"{one['job_id']} {one['job_desc'] or ''}".strip(),
            "status": lambda one: one["tag"],
            "phase": lambda one: None if one["phase"] == "ended" else one["phase"],
            "cause": lambda one: one["cause"],
            "triggered": lambda one: one["trigger_time"],
            "executor": lambda one: one["executor_address"],
            "reason": lambda one: one["reason_code"],
        },
    )


@exec.command()
@click.argument("execution_id", type=int)
@output_option
@api_options
def describe(api: ApiChoice, execution_id: int, output: str) -> None:
    """Show one execution: its state, why it is so, and what happens next."""
    with api.client() as client:
        found = client.get(f"/api/v1/executions/{execution_id}")
        why = client.get(f"/api/v1/executions/{execution_id}/why")
    show_one({**found, "why": why}, output, _described)


@exec.command()
@click.argument("execution_id", type=int)
@output_option
@api_options
def why(api: ApiChoice, execution_id: int, output: str) -> None:
    """Tell how an execution came to be where it is, step by step."""
    with api.client() as client:
        found = client.get(f"/api/v1/executions/{execution_id}/why")
    show_one(found, output, _story)


@exec.command()
@click.argument("execution_id", type=int)
@output_option
@api_options
def kill(api: ApiChoice, execution_id: int, output: str) -> None:
    """End an execution now, and tell its executor."""
    with api.client() as client:
        show_one(client.call("POST", f"/api/v1/executions/{execution_id}/kill"), output, _killed)


@exec.command()
@click.argument("execution_id", type=int, required=False)
@key_option("Of one: the same key is the same request, however often it is made.")
@filter_options
@many_options
@output_option
@api_options
def retry(
    api: ApiChoice,
    execution_id: int | None,
    key: str | None,
    maximum: int,
    dry_run: bool,
    output: str,
    **wanted: object,
) -> None:
    """Do an execution again that has ended, or, each once, those that failed and that the options mean."""
    if (execution_id is None) == (not any(wanted.values())):
        raise click.UsageError("Name an execution, or say by options which are meant.")
    with api.client() as client:
        if execution_id is not None:
            if dry_run:
                raise click.UsageError("--dry-run is for many.")
            headers = PERSON | ({"Idempotency-Key": key} if key else {})
            (new,) = client.call("POST", f"/api/v1/executions/{execution_id}/retry", headers=headers)["execution_ids"]
            show_one({"id": new}, output, lambda one: [("Execution", f"{one['id']}   again after {execution_id}")])
            return
        query = {**with_ids(client, wanted), "max": maximum, "dry_run": str(dry_run).lower()}
        done = client.call("POST", "/api/v1/executions/bulk/retry", query=query, headers=PERSON)
        while not done["done"] and done["next_after"] is not None:  # a long history is looked at in parts
            query["after"] = done["next_after"]
            done = client.call("POST", "/api/v1/executions/bulk/retry", query=query, headers=PERSON)
    show_one(done, output, lambda done: many_done(done, "opened"))


exec.add_command(dead)
exec.add_command(log)


def _killed(one: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Execution", f"{one['id']}   {one['tag']}"
    yield "Executor", one["message"]
    others = [str(ended) for ended in one["ended"] if ended != one["id"]]
    if others:
        yield "Also ended", ", ".join(others)


def _described(one: dict[str, Any]) -> Iterator[tuple[str, str]]:
    attempts = one["attempt"] + one["executor_fail_retry_count"]
    yield "Execution", f"{one['id']}   job {one['job_id']}   attempt {one['attempt']}/{attempts}"
    yield "Status", one["tag"] + ("" if one["phase"] == "ended" else f"   {one['phase']}")
    yield "Why", one["why"]["summary"]
    yield "Next", one["why"]["next"]
    yield "Cause", one["cause"] + (f", for {one['schedule_time']}" if one["schedule_time"] else "")
    yield "Triggered", one["trigger_time"]
    yield "Started", one["start_time"] or "-"
    yield "Ended", one["handle_time"] or "-"
    yield "Ran", "-" if one.get("duration_ms") is None else f"{one['duration_ms'] / 1000:.3f} s"
    yield "Executor", one["executor_address"] or "-"
    if one["shard_total"] > 1:
        yield "Shard", f"{one['shard_index']} of {one['shard_total']}"
    yield "Handler", f"{one['executor_handler']} {one['executor_param']}".strip() or "-"
    if one.get("log_level"):
        yield "Log level", one["log_level"]
    if one["handle_msg"]:
        yield "Result", one["handle_msg"]


def _story(why: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Execution", f"{why['id']}   {why['tag']}"
    for step in why["steps"]:
        yield step["at"] or "", f"{step['code']}: {step['text']}"
    yield "Next", why["next"]
