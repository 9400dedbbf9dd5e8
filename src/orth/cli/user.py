"""``orth user``: who may sign in, and what they may where."""

import getpass
import sys
from collections.abc import Iterator
from typing import Any

import click

from orth.cli.api_client import ApiChoice, ApiClient, api_options
from orth.cli.options import coordinator_dir_option, store_option
from orth.cli.output import output_option, show_list, show_one
from orth.cli.references import Reference, group_argument, group_id, group_names
from orth.cli.starting import needing_extra, settings_of
from orth.errors import NotFound

_USERS = "/api/v1/users"
_ROLES = ("viewer", "operator", "editor", "admin")
_NONE = "none"

_password_option = click.option(
    "--password-stdin", is_flag=True, help="Read the password from standard input; else one is made and shown once."
)


@click.group()
def user() -> None:
    """Look after people: who may sign in, and what they may."""


@user.command(name="list")
@output_option
@api_options
def list_(api: ApiChoice, output: str) -> None:
    """List users and what they may."""
    with api.client() as client:
        found = list(client.items(_USERS))
        names = group_names(client) if output == "table" else {}
    show_list(
        found,
        output,
        {
            "id": lambda one: one["id"],
            "name": lambda one: one["username"],
            "role": lambda one: one["role"],
            "in groups": lambda one: _grants(one, names),
            "state": _state,
        },
    )


@user.command()
@click.argument("name")
@click.option("--role", type=click.Choice(_ROLES), help="What holds in every group.  [default: nothing]")
@_password_option
@output_option
@api_options
def add(api: ApiChoice, name: str, role: str | None, password_stdin: bool, output: str) -> None:
    """Add somebody."""
    body = {"username": name, "role": role, "password": _read_password(password_stdin)}
    with api.client() as client:
        made = client.call("POST", _USERS, body=body)
        _show(client, made, output)


@user.command()
@click.argument("name")
@click.argument("role", type=click.Choice((*_ROLES, _NONE)))
@output_option
@api_options
def role(api: ApiChoice, name: str, role: str, output: str) -> None:
    """Give somebody a role in every group, or none."""
    with api.client() as client:
        path = f"{_USERS}/{_find(client, name)['id']}"
        _show(client, client.call("PATCH", path, body={"role": None if role == _NONE else role}), output)


@user.command()
@click.argument("name")
@group_argument
@click.argument("role", type=click.Choice(_ROLES))
@output_option
@api_options
def grant(api: ApiChoice, name: str, group_: Reference, role: str, output: str) -> None:
    """Give somebody a role in one GROUP, named by its app name or id."""
    with api.client() as client:
        path = f"{_USERS}/{_find(client, name)['id']}/grants/{group_id(client, group_)}"
        _show(client, client.call("PUT", path, body={"role": role}), output)


@user.command()
@click.argument("name")
@group_argument
@output_option
@api_options
def revoke(api: ApiChoice, name: str, group_: Reference, output: str) -> None:
    """Take away the role that somebody has in one GROUP."""
    with api.client() as client:
        path = f"{_USERS}/{_find(client, name)['id']}/grants/{group_id(client, group_)}"
        _show(client, client.call("DELETE", path), output)


@user.command()
@click.argument("name")
@output_option
@api_options
def disable(api: ApiChoice, name: str, output: str) -> None:
    """Let nobody in under this name, and end its sessions."""
    _set_disabled(api, name, True, output)


@user.command()
@click.argument("name")
@output_option
@api_options
def enable(api: ApiChoice, name: str, output: str) -> None:
    """Let somebody in again."""
    _set_disabled(api, name, False, output)


@user.command()
@click.argument("name")
@_password_option
@store_option
@coordinator_dir_option
@output_option
@api_options
def password(
    api: ApiChoice, name: str, password_stdin: bool, store: str | None, data_dir: str | None, output: str
) -> None:
    """Give somebody another password, which ends their sessions.

    With --store or --data-dir it is written into the database itself: for whoever is at the machine of a coordinator
    that nobody can sign in to any more.
    """
    given = _read_password(password_stdin)
    if store is not None or data_dir is not None:
        settings = settings_of({"store.url": store, "coordinator.data_dir": data_dir}, api.config)
        made = _reset_in_store(settings.store_url, name, given)
    else:
        with api.client() as client:
            path = f"{_USERS}/{_find(client, name)['id']}/password"
            made = client.call("POST", path, body={"password": given})["password"]
    show_one({"id": name, "password": made}, output, _told_password)


@user.command()
@click.argument("name")
@api_options
def remove(api: ApiChoice, name: str) -> None:
    """Remove somebody, and end their sessions."""
    with api.client() as client:
        client.call("DELETE", f"{_USERS}/{_find(client, name)['id']}")


def _set_disabled(api: ApiChoice, name: str, disabled: bool, output: str) -> None:
    with api.client() as client:
        path = f"{_USERS}/{_find(client, name)['id']}"
        _show(client, client.call("PATCH", path, body={"disabled": disabled}), output)


def _find(client: ApiClient, name: str) -> dict[str, Any]:
    for one in client.items(_USERS, username=name):
        return one
    raise NotFound("user", name)


def _read_password(from_stdin: bool) -> str | None:
    return sys.stdin.readline().rstrip("\n") if from_stdin else None


def _reset_in_store(url: str, name: str, given: str | None) -> str | None:
    with needing_extra("server"):
        from orth.clock import SystemClock
        from orth.coordinator.people import reset_at
        from orth.domain.audit import Actor, ActorKind
        from orth.store.migrating import check_schema
    check_schema(url)
    return reset_at(url, Actor(ActorKind.COMMAND, f"orth user by {_person()}"), name, given, SystemClock().now())


def _person() -> str:
    """Who is at the machine, for the audit."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name
        return "somebody"


def _show(client: ApiClient, one: dict[str, Any], output: str) -> None:
    names = group_names(client) if output == "table" else {}
    show_one(one, output, lambda shown: _described(shown, names))


def _grants(one: dict[str, Any], names: dict[int, str]) -> str:
    return ", ".join(f"{names.get(grant['group_id'], grant['group_id'])}: {grant['role']}" for grant in one["grants"])


def _state(one: dict[str, Any]) -> str:
    return "disabled" if one["disabled"] else "enabled"


def _described(one: dict[str, Any], names: dict[int, str]) -> Iterator[tuple[str, str]]:
    yield "User", f"{one['id']}   {one['username']}"
    yield "Role", one["role"] or "none everywhere"
    yield "In groups", _grants(one, names) or "none"
    yield "State", _state(one)
    if one.get("password"):
        yield "Password", f"{one['password']}   (shown this once)"


def _told_password(one: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "User", one["id"]
    yield "Password", f"{one['password']}   (shown this once)" if one["password"] else "as you gave it"
