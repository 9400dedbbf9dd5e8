"""``orth exec``: what ran, what runs, why something did not, and ending what should not."""

from collections.abc import Iterator
from typing import Any

import click

from orth.cli.api_client import ApiChoice, api_options
from orth.cli.output import output_option, show_list, show_one

STATUSES = ("init", "pending", "success", "failed", "timeout", "trigger_failed")


@click.group()
def exec() -> None:  # the name of the command; the function of that name is not used here
    """Look at executions, and end them."""


@exec.command(name="list")
@click.option("--job", "job_id", type=int, metavar="ID", help="Only those of this job.")
@click.option("--status", type=click.Choice(STATUSES), help="Only those with this status.")
@click.option("--since", metavar="AGE|INSTANT", help="Only those triggered since: 2h, or 2026-01-30T10:00:00Z.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many, newest first.")
@output_option
@api_options
def list_(api: ApiChoice, job_id: int | None, status: str | None, since: str | None, limit: int, output: str) -> None:
    """List executions, newest first."""
    with api.client() as client:
        found = list(client.items("/api/v1/executions", limit=limit, job_id=job_id, status=status, since=since))
    show_list(
        found,
        output,
        {
            "id": lambda one: one["id"],
            "job": lambda one: one["job_id"],
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
    yield "Executor", one["executor_address"] or "-"
    if one["shard_total"] > 1:
        yield "Shard", f"{one['shard_index']} of {one['shard_total']}"
    yield "Handler", f"{one['executor_handler']} {one['executor_param']}".strip() or "-"
    if one["handle_msg"]:
        yield "Result", one["handle_msg"]


def _story(why: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Execution", f"{why['id']}   {why['tag']}"
    for step in why["steps"]:
        yield step["at"] or "", f"{step['code']}: {step['text']}"
    yield "Next", why["next"]
