"""``orth job``: create, edit and delete jobs, start and stop them, trigger them now or for a span of their past."""

from collections.abc import Iterator
from typing import Any

import click

from orth.cli.api_client import ApiChoice, ApiClient, api_options
from orth.cli.job_words import (
    definition_of,
    definition_options,
    query_of,
    refusals_in_options,
)
from orth.cli.options import key_option
from orth.cli.output import output_option, show_list, show_one
from orth.cli.references import GROUP, Reference, find_group, group_argument, group_names, job_argument, job_path
from orth.domain.executions import LogLevel
from orth.domain.jobs import ScheduleType
from orth.errors import ApiProblem

_AS_A_PERSON = {"Orth-Client": "cli"}
_PREVIEWED = 5  # of the fires at each end of a span


@click.group()
def job() -> None:
    """Look after jobs and trigger them. A job is named by its id or by GROUP/NAME."""


@job.command(name="list")
@click.option("--group", "job_group", type=GROUP, help="Filter by group: its id or app name.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=1000, show_default=True, help="How many.")
@output_option
@api_options
def list_(api: ApiChoice, job_group: Reference | None, limit: int, output: str) -> None:
    """List jobs."""
    with api.client() as client:
        group_id = None if job_group is None else find_group(client, job_group)["id"]
        found = list(client.items("/api/v1/jobs", limit=limit, job_group=group_id))
        names = group_names(client) if output == "table" else {}
    show_list(
        found,
        output,
        {
            "id": lambda one: one["id"],
            "name": lambda one: one["job_desc"],
            "group": lambda one: names.get(one["job_group"], one["job_group"]),
            "schedule": _schedule,
            "zone": lambda one: one.get("timezone") if _has_clock(one) else None,
            "state": lambda one: "started" if one["trigger_status"] else "stopped",
            "next": lambda one: one["trigger_next_time"],
        },
    )


@job.command()
@job_argument
@output_option
@api_options
def show(api: ApiChoice, job_: Reference, output: str) -> None:
    """Show one job."""
    with api.client() as client:
        found = client.get(job_path(client, job_))
        _show(client, found, output)


@job.command()
@group_argument
@click.argument("handler")
@definition_options
@click.option("--start", "started", is_flag=True, help="Start the job at once.")
@output_option
@api_options
def create(api: ApiChoice, group_: Reference, handler: str, started: bool, output: str, **words: Any) -> None:
    """Create a job for a handler of a group.

    What the decorator of the handler proposes is used unless an option says otherwise.

    \b
    orth job create shop-app sync --schedule "0 */5 * * * ?" --timezone Europe/Paris --start
    """
    from orth.apphost.first_jobs import job_proposed

    with api.client() as client:
        group_id = find_group(client, group_)["id"]
        announced = client.get(f"/api/v1/groups/{group_id}/handlers")["items"]
        known = next((one for one in announced if one["name"] == handler), None)
        body = job_proposed(group_id, known or {"name": handler, "schedule": None, "timezone": None})
        body |= definition_of(words)
        if started and body["schedule_type"] == ScheduleType.NONE:
            raise click.UsageError(
                "A job without a schedule cannot be started. Name a --schedule, or leave out --start."
            )
        with refusals_in_options():
            made = client.call("POST", "/api/v1/jobs", body=body, query=query_of(words))
        if started:
            made = _started_first(client, made)
        _show(client, made, output)


@job.command()
@job_argument
@click.option("--handler", metavar="NAME", help="Handler that the job runs.")
@definition_options
@output_option
@api_options
def edit(api: ApiChoice, job_: Reference, handler: str | None, output: str, **words: Any) -> None:
    """Change a job; what is not named stays."""
    changes = {**definition_of(words), **({} if handler is None else {"executor_handler": handler})}
    if not changes:
        raise click.UsageError("Nothing to change. Name an option, such as --schedule.")
    with api.client() as client, refusals_in_options():
        path = job_path(client, job_)
        _show(client, client.call("PATCH", path, body=changes, query=query_of(words)), output)


@job.command()
@job_argument
@api_options
def delete(api: ApiChoice, job_: Reference) -> None:
    """Delete a job. Its executions stay until their retention ends."""
    with api.client() as client:
        path = job_path(client, job_)
        found = client.get(path)
        client.call("DELETE", path)
    click.echo(f"Deleted job {found['id']} ({found['job_desc']}).")


@job.command()
@job_argument
@output_option
@api_options
def start(api: ApiChoice, job_: Reference, output: str) -> None:
    """Let a job fire by its schedule."""
    with api.client() as client:
        _show(client, client.call("POST", f"{job_path(client, job_)}/start"), output)


@job.command()
@job_argument
@output_option
@api_options
def stop(api: ApiChoice, job_: Reference, output: str) -> None:
    """Plan no further fires of a job; what is open goes on."""
    with api.client() as client:
        _show(client, client.call("POST", f"{job_path(client, job_)}/stop"), output)


@job.command(name="next")
@job_argument
@click.option("-n", "count", type=click.IntRange(1, 100), default=10, show_default=True, help="How many fires.")
@output_option
@api_options
def next_(api: ApiChoice, job_: Reference, count: int, output: str) -> None:
    """Show when a job fires next."""
    with api.client() as client:
        found = client.get(f"{job_path(client, job_)}/next", n=count)
    fires = [{"id": fire["fire_time"], **fire} for fire in found["items"]]
    show_list(
        fires if output in ("table", "name") else found["items"],
        output,
        {
            "local": lambda fire: fire["local_time"],
            "fire": lambda fire: fire["fire_time"],
            "due": lambda fire: fire["due_time"],
            "skipped": _skipped,
        },
    )


@job.command()
@job_argument
@click.option("--param", metavar="TEXT", help="Parameter for this once.  [default: the job's]")
@click.option("--address", "addresses", multiple=True, metavar="URL", help="Executor to use; may be given again.")
@click.option(
    "--log-level",
    type=click.Choice([level.value for level in LogLevel], case_sensitive=False),
    help="Capture what is logged from this level on, for this once.  [default: as the job has it]",
)
@key_option("Idempotency key: the same one is the same trigger.")
@output_option
@api_options
def trigger(
    api: ApiChoice,
    job_: Reference,
    param: str | None,
    addresses: tuple[str, ...],
    log_level: str | None,
    key: str | None,
    output: str,
) -> None:
    """Run a job now; a broadcast on every address."""
    body = _body(executor_param=param, address_list=list(addresses) or None, log_level=log_level)
    with api.client() as client:
        opened = client.call("POST", f"{job_path(client, job_)}/trigger", body=body, headers=_headers(key))
    executions = [{"id": one} for one in opened["execution_ids"]]
    if output in ("table", "name"):
        show_list(executions, output, {"execution": lambda one: one["id"]})
    else:
        show_one(opened, output, _nothing)


@job.command()
@job_argument
@click.option(
    "--from", "start", required=True, metavar="INSTANT", help="First instant; local times are in the job's zone."
)
@click.option("--to", "end", required=True, metavar="INSTANT", help="Instant after the last.")
@click.option("--at-once", type=click.IntRange(1, 1000), default=1, show_default=True, help="Fires open together.")
@click.option("--param", metavar="TEXT", help="Parameter of all of them.  [default: the job's]")
@click.option("--skip-done", is_flag=True, help="Leave out fires that have succeeded or are running.")
@click.option("--max", "most", type=click.IntRange(min=1), metavar="N", help="Refuse a span with more fires than this.")
@click.option("--dry-run", is_flag=True, help="Only show what would run.")
@key_option("Idempotency key: the same one is the same batch.")
@output_option
@api_options
def backfill(
    api: ApiChoice,
    job_: Reference,
    start: str,
    end: str,
    at_once: int,
    param: str | None,
    skip_done: bool,
    most: int | None,
    dry_run: bool,
    key: str | None,
    output: str,
) -> None:
    """Run every fire of a job's schedule between two instants, oldest first."""
    body = _body(start=start, end=end, at_once=at_once, executor_param=param, skip_done=skip_done, max=most)
    with api.client() as client:
        if dry_run:
            found = client.call("POST", f"{job_path(client, job_)}/trigger-batch", body={**body, "preview": True})
            show_one({"id": found["count"], **found} if output == "name" else found, output, _previewed)
        else:
            show_one(_started(client, job_path(client, job_), body, key), output, _batch)


def _show(client: ApiClient, one: dict[str, Any], output: str) -> None:
    """A job, with the name of its group where people read it."""
    names = group_names(client) if output == "table" else {}
    show_one(one, output, lambda shown: _described(shown, names))


def _started_first(client: ApiClient, made: dict[str, Any]) -> dict[str, Any]:
    """A new job, started; where that is refused, the job is there all the same, and the error says so."""
    try:
        started: dict[str, Any] = client.call("POST", f"/api/v1/jobs/{made['id']}/start")
    except ApiProblem as refused:
        said = f"Job {made['id']} ({made['job_desc']}) was created and is stopped: {refused.message}"
        raise ApiProblem(refused.status, said, hint=refused.hint, code=refused.code) from None
    return started


def _started(client: ApiClient, path: str, body: dict[str, Any], key: str | None) -> dict[str, Any]:
    begun = client.call("POST", f"{path}/trigger-batch", body=body, headers=_headers(key))
    found: dict[str, Any] = client.get(f"/api/v1/batches/{begun['batch_id']}")
    return found


def _body(**fields: object) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _headers(key: str | None) -> dict[str, str]:
    return _AS_A_PERSON if key is None else {**_AS_A_PERSON, "Idempotency-Key": key}


def _schedule(one: dict[str, Any]) -> str:
    return f"{one['schedule_type']} {one['schedule_conf']}".strip()


def _skipped(fire: dict[str, Any]) -> str | None:
    reason: str | None = fire["skipped"]
    return reason


def _nothing(_one: object) -> Iterator[tuple[str, str]]:
    yield from ()


def _has_clock(one: dict[str, Any]) -> bool:
    """Whether the zone decides when the job fires."""
    return one["schedule_type"] in ("CRON", "AT")


def _described(one: dict[str, Any], groups: dict[int, str]) -> Iterator[tuple[str, str]]:
    yield "Job", f"{one['id']}   {one['job_desc']}"
    yield "State", "started" if one["trigger_status"] else "stopped"
    yield "Schedule", f"{_schedule(one)} ({one['timezone']})"
    yield "Next", one["trigger_next_time"] or "-"
    yield "Last", one["trigger_last_time"] or "-"
    yield "Group", f"{one['job_group']}   {groups.get(one['job_group'], '')}".strip()
    handler = f"{one['executor_handler']} {one['executor_param']}".strip() or "-"
    yield "Handler", f"that of job {one['super_task_id']}" if one["super_task_id"] not in (0, one["id"]) else handler
    if one.get("executor_queue"):
        yield "Queue", f"{one['executor_queue']} (priority {one['priority']})"
    else:
        yield "Route", one["executor_route_strategy"]
    yield "Block", f"{one['executor_block_strategy']} (overlap: {one['overlap']})"
    yield "Retries", str(one["executor_fail_retry_count"])
    if one["child_jobid"]:
        yield "Children", ", ".join(map(str, one["child_jobid"]))


def _previewed(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Span", f"{found['start']} to {found['end']}"
    yield "Fires", str(found["count"])
    if found["refused"]:
        yield "Skipped", f"{found['refused']} by the calendar"
    if found["done"]:
        yield "Done", str(found["done"])
    if found["count"]:
        shown = found["first"] if found["count"] <= 2 * _PREVIEWED else found["first"][:_PREVIEWED]
        yield "First", "\n".join(shown[: 2 * _PREVIEWED])
        if found["count"] > 2 * _PREVIEWED:
            yield "Last", "\n".join(found["last"][-_PREVIEWED:])


def _batch(one: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Batch", f"{one['id']}   job {one['job_id']}"
    yield "State", one["state"] + (f": {one['reason']}" if one["reason"] else "")
    yield "Span", f"{one['start_time']} to {one['end_time']}"
    yield "Opened", f"{one['opened']} of {one['total']} fires, {one['at_once']} at once"
    yield "Executions", f"{one['running']} running, {one['succeeded']} succeeded, {one['failed']} failed"
