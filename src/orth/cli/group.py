"""``orth group``: groups of executors, by id or by app name."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click

from orth.cli.api_client import ApiChoice, api_options
from orth.cli.output import output_option, show_list, show_one
from orth.cli.references import Reference, find_group, group_argument, unclaimed_apps
from orth.domain.enrolments import Admission
from orth.domain.jobs import GroupDialect
from orth.errors import Invalid

_F = TypeVar("_F", bound=Callable[..., Any])
_PATH = "/api/v1/groups"
_UNCLAIMED = "/api/v1/executors/unclaimed"
_WRITTEN = ("app_name", "title", "address_type", "address_list", "dialect")


def _checked_title(_context: click.Context, _parameter: click.Parameter, title: str | None) -> str | None:
    if title is not None and not title.strip():
        raise click.BadParameter("it is empty.")  # the API would take the app name
    return title


_OPTIONS = (
    click.option("--title", metavar="TEXT", callback=_checked_title, help="Name for people.  [default: the app name]"),
    click.option(
        "--address", "addresses", multiple=True, metavar="URL", help="Executor of a manual list; may be given again."
    ),
    click.option(
        "--dialect", type=click.Choice([one.value for one in GroupDialect]), help="Protocol of its executors."
    ),
    click.option("--scripts/--no-scripts", "scripts", default=None, help="Allow code of jobs on its executors."),
    click.option(
        "--admission",
        type=click.Choice([one.value for one in Admission]),
        help="Who may be its executor: anyone with a token of the group (open), or admitted executors only (known).",
    ),
)


def _written_options(command: _F) -> _F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group()
def group() -> None:
    """List, create, edit and delete groups of executors."""


@group.command(name="list")
@click.option("--unclaimed", is_flag=True, help="List app names of registered executors that have no group.")
@output_option
@api_options
def list_(api: ApiChoice, unclaimed: bool, output: str) -> None:
    """List groups."""
    with api.client() as client:
        found = (
            [{"id": one["app_name"], **one} for one in unclaimed_apps(client)] if unclaimed else [*client.items(_PATH)]
        )
    show_list(found, output, _UNCLAIMED_COLUMNS if unclaimed else _COLUMNS)


@group.command()
@group_argument
@output_option
@api_options
def show(api: ApiChoice, group_: Reference, output: str) -> None:
    """Show one group."""
    with api.client() as client:
        show_one(find_group(client, group_), output, _described)


@group.command()
@click.argument("app_name")
@_written_options
@output_option
@api_options
def create(api: ApiChoice, app_name: str, output: str, **given: Any) -> None:
    """Create a group. Its executors register by themselves, unless --address lists them."""
    body = _changed({"app_name": app_name}, **given)
    with api.client() as client:
        show_one(client.call("POST", _PATH, body=body), output, _described)


@group.command()
@click.argument("app_name")
@click.option("--title", metavar="TEXT", callback=_checked_title, help="Name for people.  [default: the app name]")
@output_option
@api_options
def adopt(api: ApiChoice, app_name: str, title: str | None, output: str) -> None:
    """Create the group of executors that are registered already."""
    from urllib.parse import quote

    body = {} if title is None else {"title": title}
    with api.client() as client:
        made = client.call("POST", f"{_UNCLAIMED}/{quote(app_name, safe='')}/adopt", body=body)
    show_one(made, output, _described)


@group.command()
@group_argument
@_written_options
@click.option("--auto", is_flag=True, help="Use the executors that register, instead of a manual list.")
@output_option
@api_options
def edit(api: ApiChoice, group_: Reference, auto: bool, output: str, **given: Any) -> None:
    """Change a group; what is not named stays."""
    if auto and given["addresses"]:
        raise Invalid("A group uses either a manual list or the executors that register.", hint="Leave out --auto.")
    if not auto and not _changed({}, **given):
        raise click.UsageError("Nothing to change. Name an option, such as --title.")
    with api.client() as client:
        found = find_group(client, group_)
        body = {name: found[name] for name in _WRITTEN}
        if auto or found["address_type"] == 0:  # the list of such a group follows the registry
            body |= {"address_type": 0, "address_list": []}
        show_one(client.call("PUT", f"{_PATH}/{found['id']}", body=_changed(body, **given)), output, _described)


@group.command()
@group_argument
@api_options
def delete(api: ApiChoice, group_: Reference) -> None:
    """Delete a group that has no jobs."""
    with api.client() as client:
        found = find_group(client, group_)
        client.call("DELETE", f"{_PATH}/{found['id']}")
    click.echo(f"Deleted group {found['id']} ({found['app_name']}).")


def _changed(
    body: dict[str, Any],
    *,
    title: str | None,
    addresses: tuple[str, ...],
    dialect: str | None,
    scripts: bool | None,
    admission: str | None,
) -> dict[str, Any]:
    given = {"title": title, "dialect": dialect, "scripts_allowed": scripts, "admission": admission}
    manual = {"address_type": 1, "address_list": list(addresses)} if addresses else {}
    return {**body, **{name: value for name, value in given.items() if value is not None}, **manual}


def _addresses(one: dict[str, Any]) -> str:
    return ", ".join(one["address_list"]) or ("-" if one["address_type"] else "none registered")


def _described(one: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Group", f"{one['id']}   {one['app_name']}"
    yield "Title", one["title"]
    yield "Addresses", f"{'manual' if one['address_type'] else 'registered'}: {_addresses(one)}"
    yield "Dialect", one["dialect"]
    yield "Scripts", "allowed" if one["scripts_allowed"] else "not allowed"
    yield "Admission", one["admission"]
    if one.get("unreadable"):
        yield "Unreadable", one["unreadable"]


_COLUMNS = {
    "id": lambda one: one["id"],
    "app name": lambda one: one["app_name"],
    "title": lambda one: one["title"],
    "addresses": lambda one: "manual" if one["address_type"] else "registered",
    "executors": _addresses,
    "scripts": lambda one: "allowed" if one["scripts_allowed"] else "not allowed",
}
_UNCLAIMED_COLUMNS = {
    "app name": lambda one: one["app_name"],
    "executors": lambda one: one["executors"],
    "last beat": lambda one: one["last_beat"],
    "trouble": lambda one: one["trouble"],
}
