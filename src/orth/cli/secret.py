"""``orth secret``: values that jobs need and nobody else may see.

A value is read from standard input, or asked for without showing it: on the command line others could read it.
"""

import sys
from typing import Any

import click

from orth.cli.api_client import ApiChoice, ApiClient, api_options
from orth.cli.output import output_option, show_list
from orth.cli.references import GROUP, Reference, with_ids
from orth.domain.job_secrets import SECRET_SHORTEST
from orth.errors import Invalid

_group = click.option(
    "--group", "job_group", type=GROUP, help="Group of the secret: its id or app name.  [default: all]"
)


@click.group()
def secret() -> None:
    """Look after secrets that jobs name."""


@secret.command(name="list")
@_group
@output_option
@api_options
def list_(api: ApiChoice, job_group: Reference | None, output: str) -> None:
    """List them: names and versions, never values."""
    with api.client() as client:
        found = list(client.items("/api/v1/secrets", **_query(client, job_group)))
    show_list(
        found,
        output,
        {
            "name": lambda one: one["name"],
            "group": lambda one: one["job_group"] or "all",
            "version": lambda one: one["version"],
            "updated": lambda one: one["updated_at"],
            "by": lambda one: one["updated_by"],
        },
    )


@secret.command(name="set")
@click.argument("name")
@_group
@api_options
def set_(api: ApiChoice, name: str, job_group: Reference | None) -> None:
    """Store a value, read from standard input or asked for.

    \b
    orth secret set DB_PASSWORD --group shop-app < password.txt
    """
    value = _asked() if sys.stdin.isatty() else sys.stdin.read().removesuffix("\n").removesuffix("\r")
    if len(value) < SECRET_SHORTEST:
        what = "The value is empty" if not value else "The value is too short"
        raise Invalid(
            f"{what}: a secret has at least {SECRET_SHORTEST} characters.", hint="orth secret set NAME < FILE"
        )
    with api.client() as client:
        stored = client.call(
            "PUT", f"/api/v1/secrets/{_quoted(name)}", body={"value": value}, query=_query(client, job_group)
        )
    click.echo(f"{stored['name']} has version {stored['version']}.")


@secret.command()
@click.argument("name")
@_group
@api_options
def delete(api: ApiChoice, name: str, job_group: Reference | None) -> None:
    """Remove one that no job names."""
    with api.client() as client:
        client.call("DELETE", f"/api/v1/secrets/{_quoted(name)}", query=_query(client, job_group))


def _asked() -> str:
    value: str = click.prompt("Value", hide_input=True, confirmation_prompt=True, err=True)
    return value


def _query(client: ApiClient, job_group: Reference | None) -> dict[str, Any]:
    return with_ids(client, {"job_group": job_group})


def _quoted(name: str) -> str:
    from urllib.parse import quote

    if not name:
        raise Invalid("A secret has a name.")
    return quote(name, safe="")
