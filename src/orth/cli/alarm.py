"""``orth alarm``: what was told, by which channels, and what shall not be told for a while."""

import json
from collections.abc import Iterator
from typing import Any

import click

from orth.cli.api_client import ApiChoice, api_options
from orth.cli.output import output_option, show_list, show_one
from orth.cli.references import GROUP, JOB, Reference, with_ids

_KINDS = ("mail", "webhook", "apprise")
_STATES = ("waiting", "sending", "told", "failed")
_CHANNELS = "/api/v1/alarms/channels"
_SILENCES = "/api/v1/alarms/silences"


@click.group()
def alarm() -> None:
    """Look after alarms: what was told, by which channels, and silences."""


@alarm.command(name="list")
@click.option("--job", "job_id", type=JOB, help="Filter by job: its id or GROUP/NAME.")
@click.option("--state", type=click.Choice(_STATES), help="Only those that are so far.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many, newest first.")
@output_option
@api_options
def list_(api: ApiChoice, job_id: Reference | None, state: str | None, limit: int, output: str) -> None:
    """List messages, newest first."""
    with api.client() as client:
        wanted = with_ids(client, {"job_id": job_id, "state": state})
        found = list(client.items("/api/v1/alarms", limit=limit, **wanted))
    show_list(
        found,
        output,
        {
            "id": lambda one: one["id"],
            "at": lambda one: one["created_at"],
            "kind": lambda one: one["kind"],
            "job": lambda one: one["job_id"],
            "execution": lambda one: one["execution_id"],
            "channel": lambda one: one["channel"],
            "state": lambda one: one["state"],
            "attempts": lambda one: one["attempts"],
            "error": lambda one: one["error"],
        },
    )


@alarm.command()
@click.option("--limit", type=click.IntRange(1, 10_000), default=1000, show_default=True, help="How many.")
@output_option
@api_options
def failing(api: ApiChoice, limit: int, output: str) -> None:
    """List jobs that have failed and not succeeded since."""
    with api.client() as client:
        found = [{"id": one["job_id"], **one} for one in client.items("/api/v1/alarms/failing", limit=limit)]
    show_list(
        found,
        output,
        {
            "job": lambda one: one["job_id"],
            "since": lambda one: one["since"],
            "failures": lambda one: one["failures"],
            "told": lambda one: one["told_at"],
            "first": lambda one: one["execution_id"],
        },
    )


@alarm.group()
def channels() -> None:
    """Define by which ways people are told."""


@channels.command(name="list")
@output_option
@api_options
def list_channels(api: ApiChoice, output: str) -> None:
    """List channels."""
    with api.client() as client:
        found = list(client.items(_CHANNELS))
    show_list(
        found,
        output,
        {
            "id": lambda one: one["id"],
            "name": lambda one: one["name"],
            "kind": lambda one: one["kind"],
            "state": lambda one: "on" if one["enabled"] else "off",
            "to": _receiver,
        },
    )


@channels.command(name="show")
@click.argument("channel_id", type=int)
@output_option
@api_options
def show_channel(api: ApiChoice, channel_id: int, output: str) -> None:
    """Show one channel, its secrets masked."""
    with api.client() as client:
        show_one(client.get(f"{_CHANNELS}/{channel_id}"), output, _described)


@channels.command(name="add")
@click.argument("name")
@click.option("--kind", type=click.Choice(_KINDS), required=True)
@click.option(
    "--definition",
    type=click.File(),
    required=True,
    metavar="FILE",
    help="The definition as a JSON object; - reads it from standard input, so that its secrets stand nowhere.",
)
@output_option
@api_options
def add_channel(api: ApiChoice, name: str, kind: str, definition: Any, output: str) -> None:
    """Define a channel."""
    body = {"name": name, "kind": kind, "definition": _read(definition)}
    with api.client() as client:
        show_one(client.call("POST", _CHANNELS, body=body), output, _described)


@channels.command(name="edit")
@click.argument("channel_id", type=int)
@click.option("--name", help="A new name.")
@click.option("--definition", type=click.File(), metavar="FILE", help="A new definition; masked secrets are kept.")
@click.option("--on/--off", "enabled", default=None, help="Whether it is used.")
@output_option
@api_options
def edit_channel(
    api: ApiChoice, channel_id: int, name: str | None, definition: Any, enabled: bool | None, output: str
) -> None:
    """Change a channel; what is not said stays."""
    with api.client() as client:
        stored = client.get(f"{_CHANNELS}/{channel_id}")
        body = {
            "name": stored["name"] if name is None else name,
            "kind": stored["kind"],
            "definition": stored["definition"] if definition is None else _read(definition),
            "enabled": stored["enabled"] if enabled is None else enabled,
        }
        show_one(client.call("PUT", f"{_CHANNELS}/{channel_id}", body=body), output, _described)


@channels.command(name="delete")
@click.argument("channel_id", type=int)
@api_options
def delete_channel(api: ApiChoice, channel_id: int) -> None:
    """Remove a channel."""
    with api.client() as client:
        client.call("DELETE", f"{_CHANNELS}/{channel_id}")


@alarm.command()
@click.argument("channel_id", type=int)
@click.option("--to", metavar="ADDRESS", help="Whom to write to, for a mail channel that names nobody.")
@output_option
@api_options
def test(api: ApiChoice, channel_id: int, to: str | None, output: str) -> None:
    """Send one message by a channel and show what its receiver says."""
    with api.client() as client:
        answer = client.call("POST", f"{_CHANNELS}/{channel_id}/test", body={} if to is None else {"to": to})
    show_one({"id": channel_id, **answer} if output == "name" else answer, output, _answered)
    if not answer["ok"]:
        raise SystemExit(1)


@alarm.group()
def silences() -> None:
    """Tell nothing for a while."""


@silences.command(name="list")
@click.option("--over", is_flag=True, help="Also those that are over.")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=1000, show_default=True, help="How many, newest first."
)
@output_option
@api_options
def list_silences(api: ApiChoice, over: bool, limit: int, output: str) -> None:
    """List silences."""
    with api.client() as client:
        found = list(client.items(_SILENCES, limit=limit, over="true" if over else None))
    show_list(
        found,
        output,
        {
            "id": lambda one: one["id"],
            "of": _silenced,
            "from": lambda one: one["starts_at"],
            "until": lambda one: one["ends_at"],
            "by": lambda one: one["actor"],
            "reason": lambda one: one["reason"],
        },
    )


@silences.command(name="add")
@click.option("--job", "job_id", type=JOB, help="Of this job: its id or GROUP/NAME.")
@click.option("--group", "job_group", type=GROUP, help="Of every job of this group: its id or app name.")
@click.option("--all", "everything", is_flag=True, help="Of everything.")
@click.option("--from", "starts_at", metavar="INSTANT", help="When it begins.  [default: now]")
@click.option("--until", "ends_at", metavar="INSTANT", help="When it ends.")
@click.option("--for", "lasts", metavar="DURATION", help="How long it lasts, instead of --until: 2h.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; the others will ask.")
@output_option
@api_options
def add_silence(
    api: ApiChoice,
    job_id: Reference | None,
    job_group: Reference | None,
    everything: bool,
    starts_at: str | None,
    ends_at: str | None,
    lasts: str | None,
    reason: str,
    output: str,
) -> None:
    """Tell nothing about a job, a group, or anything."""
    if everything != (job_id is None and job_group is None):
        raise click.UsageError("Say whose silence it is: --job, --group, or --all.")
    fields = {
        "job_id": job_id,
        "job_group": job_group,
        "starts_at": starts_at,
        "ends_at": ends_at,
        "lasts": lasts,
        "reason": reason,
    }
    body = {name: value for name, value in fields.items() if value is not None}
    with api.client() as client:
        show_one(client.call("POST", _SILENCES, body=with_ids(client, body)), output, _silence)


@silences.command(name="end")
@click.argument("silence_id", type=int)
@output_option
@api_options
def end_silence(api: ApiChoice, silence_id: int, output: str) -> None:
    """End a silence now."""
    with api.client() as client:
        show_one(client.call("DELETE", f"{_SILENCES}/{silence_id}"), output, _silence)


def _read(file: Any) -> object:
    try:
        return json.load(file)
    except ValueError as error:
        raise click.BadParameter(f"{file.name} does not hold JSON: {error}") from None


def _receiver(one: dict[str, Any]) -> str:
    definition = one["definition"]
    if one["kind"] == "mail":
        return ", ".join(definition["to"]) or "as the jobs say"
    return str(definition.get("url") or ", ".join(definition.get("urls", ())))


def _silenced(one: dict[str, Any]) -> str:
    parts = [f"{what} {one[field]}" for what, field in (("job", "job_id"), ("group", "job_group")) if one[field]]
    return " in ".join(parts) or "everything"


def _described(one: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Channel", f"{one['id']}   {one['name']}"
    yield "Kind", one["kind"]
    yield "State", "on" if one["enabled"] else "off"
    for name, value in one["definition"].items():
        if value not in (None, [], {}):
            yield name.capitalize(), value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _answered(answer: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Taken", "yes" if answer["ok"] else "no"
    yield "Answer", answer["answer"]
    yield "Took", f"{answer['seconds']:.1f} s"


def _silence(one: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Silence", f"{one['id']}   of {_silenced(one)}"
    yield "From", one["starts_at"] or "-"
    yield "Until", one["ends_at"] or "-"
    yield "Reason", f"{one['reason']} ({one['actor']})"
