"""``orth cluster``: who leads, which coordinators there are, and asking them to step back."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import click

from orth.cli.api_client import ApiChoice, api_options
from orth.cli.output import output_option, show_list, show_one

_MIB = 1024 * 1024


@click.group()
def cluster() -> None:
    """Look at the coordinators, and ask them to step back."""


@cluster.command()
@output_option
@api_options
def status(api: ApiChoice, output: str) -> None:
    """Show who leads, which coordinators there are, and what they own."""
    with api.client() as client:
        found = client.get("/api/v1/cluster")
    if output == "name":
        show_list(found["nodes"], output, {})
        return
    show_one(found, output, _lines)
    if output == "table":
        click.echo("")
        show_list(found["nodes"], output, _COLUMNS)


@cluster.command()
@click.argument("node")
@output_option
@api_options
def drain(api: ApiChoice, node: str, output: str) -> None:
    """Ask a coordinator to hand over what it owns and stop."""
    with api.client() as client:
        asked = client.call("POST", f"/api/v1/cluster/nodes/{quote(node, safe='')}/drain")
    show_one({"id": node, **asked}, output, _asked)


@cluster.command(name="step-down")
@output_option
@api_options
def step_down(api: ApiChoice, output: str) -> None:
    """Ask the leader to let another coordinator lead."""
    with api.client() as client:
        asked = client.call("POST", "/api/v1/cluster/step-down")
    show_one({"id": asked["node"], **asked}, output, _asked)


_COLUMNS = {
    "node": lambda one: one["id"],
    "state": lambda one: one["state"],
    "role": lambda one: one["role"],
    "owned": lambda one: one["owned"],
    "queued": lambda one: one["queued_count"],
    "cpu": lambda one: f"{one['cpu_millicores']}m",
    "memory": lambda one: f"{one['memory_bytes'] // _MIB} MiB",
    "beat": lambda one: "-" if one["beat_age"] is None else f"{one['beat_age']:.0f} s ago",
    "version": lambda one: one["version"],
    "url": lambda one: one["url"],
    "asked to": lambda one: one["asked_to"],
}


def _lines(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Leader", _leader(found)
    age = "" if found["lease_age"] is None else f"   lease renewed {found['lease_age']:.1f} s ago"
    yield "Term", f"{found['term']}{age}"
    yield "Owned", f"{found['owned']}   handoffs {found['handoffs']}   orphans {found['orphans']}"


def _leader(found: dict[str, Any]) -> str:
    holder, state = found["lease_holder"], found["lease_state"]
    if state == "expired":
        return f"-   the lease of {holder} has expired; another coordinator will be elected"
    if holder is None:
        return "-"
    return f"{holder}   the lease is not renewed in time" if state == "late" else str(holder)


def _asked(asked: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Node", asked["node"]
    yield "Asked to", asked["asked_to"].replace("_", " ")
