"""``orth executors``: who is registered, and who shall get nothing new."""

from typing import Any

import click

from orth.cli.api_client import ApiChoice, ApiClient, api_options
from orth.cli.output import output_option, show_list
from orth.clock import iso
from orth.errors import Invalid, NotFound

_PATH = "/api/v1/executors"
_KEYS = "/api/v1/executor-keys"
_app = click.option("--app-name", metavar="NAME", help="Its group, if the address is in several.")


@click.group()
def executors() -> None:
    """List, drain, resume, admit and revoke executors."""


@executors.command(name="list")
@click.option("--app-name", metavar="NAME", help="Of this group only.")
@output_option
@api_options
def list_(api: ApiChoice, app_name: str | None, output: str) -> None:
    """List them: whether they live, what they have to do, who does not reach them."""
    with api.client() as client:
        found = list(client.items(_PATH, app_name=app_name))
    show_list([{"id": one["address"], **one} for one in found], output, _COLUMNS)


@executors.command()
@click.argument("address")
@_app
@api_options
def drain(api: ApiChoice, address: str, app_name: str | None) -> None:
    """Send nothing new to an executor until it is resumed, also after a restart. What it has goes on."""
    with api.client() as client:
        named = _named(client, address, app_name)
        client.call("POST", f"{_PATH}/drain", body=named)
    click.echo(f"{named['address']} of {named['app_name']} gets nothing new.")


@executors.command()
@click.argument("address")
@_app
@api_options
def resume(api: ApiChoice, address: str, app_name: str | None) -> None:
    """Let a drained executor have work again."""
    with api.client() as client:
        named = _named(client, address, app_name)
        client.call("POST", f"{_PATH}/resume", body=named)
    click.echo(f"{named['address']} of {named['app_name']} gets work.")


@executors.command()
@click.option("--waiting", is_flag=True, help="Show executors that wait to be admitted only.")
@output_option
@api_options
def keys(api: ApiChoice, waiting: bool, output: str) -> None:
    """List executors by their keys: waiting, admitted and revoked ones."""
    with api.client() as client:
        found = list(client.items(_KEYS, state="waiting" if waiting else None))
    show_list(found, output, _KEY_COLUMNS)


@executors.command()
@click.argument("executor_id", type=int, metavar="ID")
@api_options
def admit(api: ApiChoice, executor_id: int) -> None:
    """Admit an executor that waits."""
    with api.client() as client:
        one = client.call("POST", f"{_KEYS}/{executor_id}/admit")
    click.echo(f"Executor {executor_id} ({one['address']}, {one['app_name']}) is admitted.")


@executors.command()
@click.argument("executor_id", type=int, metavar="ID")
@api_options
def revoke(api: ApiChoice, executor_id: int) -> None:
    """Revoke an executor: refuse it, and send it nothing any more."""
    with api.client() as client:
        one = client.call("POST", f"{_KEYS}/{executor_id}/revoke")
    click.echo(f"Executor {executor_id} ({one['address']}, {one['app_name']}) is revoked.")


def _named(client: ApiClient, address: str, app_name: str | None) -> dict[str, str]:
    """The one registered executor that was meant."""
    apps = {one["app_name"] for one in client.items(_PATH, app_name=app_name) if one["address"] == address.rstrip("/")}
    if not apps:
        raise NotFound("executor", address)
    if len(apps) > 1:
        raise Invalid(f"{address} is in {', '.join(sorted(apps))}.", hint="Say which with --app-name.")
    return {"app_name": apps.pop(), "address": address.rstrip("/")}


def _doubters(one: dict[str, Any]) -> str:
    return ", ".join(seen["node"] for seen in one["reachability"] if seen["state"] in ("suspect", "unreachable"))


_KEY_COLUMNS = {
    "id": lambda one: one["id"],
    "group": lambda one: one["app_name"],
    "state": lambda one: one["state"],
    "address": lambda one: one["address"],
    "enrolled from": lambda one: one["source"],
    "first seen": lambda one: iso(one["first_seen"]),
    "last seen": lambda one: "-" if one["last_seen"] is None else iso(one["last_seen"]),
    "decided by": lambda one: one["decided_by"] or "its token",
}
_COLUMNS = {
    "group": lambda one: one["app_name"],
    "address": lambda one: one["address"],
    "state": lambda one: one["state"],
    "drained": lambda one: "yes" if one["drained_since"] else "no",
    "load": lambda one: one["load"],
    "beat": lambda one: f"{one['beat_age']:.0f} s ago",
    "not reached by": _doubters,
    "unavailable": lambda one: one["unavailable"] or "",
    "version": lambda one: one["version"],
}
