"""``orth token``: what programs and executors prove themselves with."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from orth.cli.api_client import ApiChoice, ApiClient, api_options
from orth.cli.options import SECONDS
from orth.cli.output import output_option, show_list, show_one
from orth.cli.references import GROUP, group_id, group_names, unclaimed_apps
from orth.clock import iso

_TOKENS = "/api/v1/tokens"
_ROLES = ("viewer", "operator", "editor", "admin")


@click.group()
def token() -> None:
    """Look after tokens: of programs that use the API, and of executors."""


@token.command(name="list")
@click.option("--all", "also_over", is_flag=True, help="Also those that are revoked.")
@output_option
@api_options
def list_(api: ApiChoice, also_over: bool, output: str) -> None:
    """List tokens: what each may, until when, and when it was last used."""
    with api.client() as client:
        found = [one for one in client.items(_TOKENS) if also_over or one["revoked_at"] is None]
    show_list(
        found,
        output,
        {
            "id": lambda one: one["id"],
            "kind": lambda one: one["kind"],
            "name": lambda one: one["name"],
            "may": _may,
            "owner": _owner,
            "expires": lambda one: _instant(one["expires_at"]),
            "last used": lambda one: _instant(one["last_used_at"]),
            "begins": lambda one: one["secrets"][0]["shown"] if one["secrets"] else "revoked",
        },
    )


@token.command()
@click.argument("name")
@click.option("--role", type=click.Choice(_ROLES), help="What a program may in every group.")
@click.option("--in-group", "in_groups", multiple=True, metavar="GROUP=ROLE", help="What it may in one; repeatable.")
@click.option("--executor", "app_names", multiple=True, metavar="APP", help="For executors of this app; repeatable.")
@click.option(
    "--from",
    "networks",
    multiple=True,
    metavar="NETWORK",
    help="With --executor: accept the token only from this network, such as 10.20.0.0/16; repeatable.",
)
@click.option("--once", is_flag=True, help="With --executor: admit one executor, then expire.")
@click.option("--days", type=click.IntRange(1), help="How long it is good.  [default: 90; executors: until revoked]")
@output_option
@api_options
def create(
    api: ApiChoice,
    name: str,
    role: str | None,
    in_groups: Sequence[str],
    app_names: Sequence[str],
    networks: Sequence[str],
    once: bool,
    days: int | None,
    output: str,
) -> None:
    """Make a token. It is shown now and never again."""
    with api.client() as client:
        body: dict[str, object] = {"name": name, "role": role, "expires_in_days": days}
        if app_names:
            body |= {"kind": "executor", "app_names": list(app_names)}
        if networks:
            body["networks"] = list(networks)
        if once:
            body["once"] = True
        if in_groups:
            body["group_roles"] = dict(_grant(client, text) for text in in_groups)
        _warn_of_missing_groups(client, app_names)
        show_one(client.call("POST", _TOKENS, body=body), output, _lines)


@token.command()
@click.argument("token_id", type=int, metavar="ID")
@click.option("--overlap", type=SECONDS, default="1d", show_default=True, help="How long the old one stays valid.")
@output_option
@api_options
def rotate(api: ApiChoice, token_id: int, overlap: int, output: str) -> None:
    """Give a token a new text. The one it has stays good for the overlap."""
    with api.client() as client:
        show_one(client.call("POST", f"{_TOKENS}/{token_id}/rotate", body={"overlap": overlap}), output, _lines)


@token.command()
@click.argument("token_id", type=int, metavar="ID")
@api_options
def revoke(api: ApiChoice, token_id: int) -> None:
    """End a token at once."""
    with api.client() as client:
        client.call("DELETE", f"{_TOKENS}/{token_id}")
    click.echo(f"Token {token_id} is revoked.")


def _warn_of_missing_groups(client: ApiClient, app_names: Sequence[str]) -> None:
    """Name the apps that have no group. The group may be created after the token."""
    missing = set(app_names).difference(group_names(client).values()) if app_names else ()
    waiting = {one["app_name"] for one in unclaimed_apps(client)} if missing else ()
    for app_name in sorted(missing):
        step = f"orth group {'adopt' if app_name in waiting else 'create'} {app_name}"
        click.echo(f"There is no group {app_name} yet. Create the group before executors need it: {step}", err=True)


def _lines(one: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Token", f"{one['token']}  (shown this once)"
    yield "Id", str(one["id"])
    yield "Name", one["name"]
    yield "May", _may(one)
    yield "Expires", _instant(one["expires_at"])
    for old in one["secrets"][1:]:
        yield "Replaces", f"{old['shown']}…, good until {_instant(old['valid_until'])}"


def _may(one: dict[str, Any]) -> str:
    if one["kind"] == "executor":
        networks = one.get("networks")
        if one.get("once"):
            return "admit one executor of " + ", ".join(one["app_names"])
        return "be an executor of " + ", ".join(one["app_names"]) + (f" from {', '.join(networks)}" if networks else "")
    roles = [f"group {group}: {role}" for group, role in one["group_roles"].items()]
    return ", ".join([f"{one['role']} everywhere"] * (one["role"] is not None) + roles)


def _owner(one: dict[str, Any]) -> str:
    """Whom it acts for, and whether they are still there."""
    if one["kind"] == "executor":
        return "-"
    state = one.get("owner_state", "active")
    return str(one["created_by"]) if state == "active" else f"{one['created_by']} ({state})"


def _instant(millis: int | None) -> str:
    return "-" if millis is None else iso(millis)


def _grant(client: ApiClient, text: str) -> tuple[str, str]:
    """GROUP=ROLE, the group by its app name or id."""
    group, _, role = text.rpartition("=")
    if role not in _ROLES:
        raise click.BadParameter(f"{text!r} does not end in =viewer, =operator, =editor or =admin")
    return str(group_id(client, GROUP.convert(group, None, None))), role
