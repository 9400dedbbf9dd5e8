"""``orth audit``: who did what; and whether the record of it is whole.

``list`` and ``export`` ask the API. ``verify`` reads the database itself: whoever has changed it may have changed what
serves it.
"""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orth.cli.api_client import ApiChoice, api_options
from orth.cli.options import config_option, coordinator_dir_option, store_option
from orth.cli.output import output_option, show_list
from orth.cli.starting import needing_extra, settings_of
from orth.clock import SystemClock, iso
from orth.errors import Invalid, Unreadable

if TYPE_CHECKING:
    from orth.domain.audit_chain import Chain, Fault

_PURGES_SHOWN = 20

_FILTERS = (
    click.option("--actor", metavar="NAME", help="Only what this user, token or node did."),
    click.option("--action", metavar="ACTION", help="Only this, such as job.update."),
    click.option("--object", metavar="KIND[:ID]", help="Only what was done to these: job, or job:7."),
    click.option("--since", metavar="AGE|INSTANT", help="Only since: 2h, or 2026-01-30T10:00:00Z."),
    click.option("--until", metavar="AGE|INSTANT", help="Only before."),
)


def _filter_options(command: Any) -> Any:
    for option in reversed(_FILTERS):
        command = option(command)
    return command


@click.group()
def audit() -> None:
    """Look at who did what, and whether the record of it is whole."""


@audit.command(name="list")
@_filter_options
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many, newest first.")
@output_option
@api_options
def list_(api: ApiChoice, limit: int, output: str, **wanted: object) -> None:
    """List entries, newest first."""
    with api.client() as client:
        found = [{"id": one["seq"], **one} for one in client.items("/api/v1/audit", limit=limit, **wanted)]
    show_list(
        found,
        output,
        {
            "entry": lambda one: one["seq"],
            "at": lambda one: one["at"],
            "actor": lambda one: one["actor"] or one["actor_kind"],
            "from": lambda one: one["address"],
            "action": lambda one: one["action"],
            "object": lambda one: f"{one['object_kind']}:{one['object_id']}",
            "changed": lambda one: ", ".join({**(one["before"] or {}), **(one["after"] or {})}),
        },
    )


@audit.command()
@_filter_options
@click.option("--format", "form", type=click.Choice(("csv", "jsonl")), default="jsonl", show_default=True)
@api_options
def export(api: ApiChoice, form: str, **wanted: object) -> None:
    """Write entries to standard output, oldest first."""
    with api.client() as client:
        for line in client.stream("/api/v1/audit", format=form, **wanted):
            click.echo(line)


@audit.command()
@click.option("--expect", metavar="SEQ:DIGEST", help="A head that was written down earlier: it must still be there.")
@click.option("--retention", metavar="AGE", help="How long entries had to be kept. [default: retention.audit]")
@store_option
@coordinator_dir_option
@config_option
def verify(
    expect: str | None, retention: str | None, store: str | None, data_dir: str | None, config: Path | None
) -> None:
    """Find out whether entries were changed, removed or reordered.

    Tells the head of the chain. Keep it elsewhere and give it to --expect later: then a record that was written anew
    as a whole is found as well. Keep a new one more often than retention.audit: what was purged cannot be compared.
    A purge of entries that were younger than the retention is a fault. Exit code 1: something is wrong, or cannot be
    confirmed.
    """
    with needing_extra("server"):
        from orth.domain.audit_chain import Chain, Kept, read_head
        from orth.store.audit import verify as verify_chain
        from orth.store.database import open_database
        from orth.store.migrating import check_schema
    expected = None if expect is None else read_head(expect)
    if expect is not None and expected is None:
        raise Invalid(f"{expect!r} is not a head.", hint="It is a number, a colon and 64 hexadecimal digits.")
    given = {"store.url": store, "coordinator.data_dir": data_dir, "retention.audit": retention}
    settings = settings_of(given, config)
    url = settings.store_url
    check_schema(url)
    chain = Chain(expected, Kept(settings.retention.audit // timedelta(milliseconds=1), SystemClock().now()))
    with open_database(url, size=1, patience=300.0) as db, db.engine.begin() as connection:
        fault = verify_chain(connection, chain)
    _show_purges(chain)
    if fault is not None:
        raise _not_whole(fault)
    click.echo(f"The audit is whole: {chain.entries} entries.")
    click.echo(f"Head: {chain.last or 'none yet'}")


def _show_purges(chain: "Chain") -> None:
    """The newest purges that the record tells of: whether they were meant, people know better than the record."""
    for purge in chain.purges[-_PURGES_SHOWN:]:
        of_age = "" if purge.before is None else f" written before {iso(purge.before)}"
        missing = "; what is missing at the beginning rests on it" if purge == chain.relied_on else ""
        click.echo(f"Purged on {iso(purge.at)}: {purge.entries} entries{of_age}, up to {purge.through.seq}{missing}.")
    if (more := len(chain.purges) - _PURGES_SHOWN) > 0:
        click.echo(f"And {more} purges before these: orth audit list --action audit.purge")


def _not_whole(fault: "Fault") -> Unreadable:
    if fault.purged_at is not None:
        return Unreadable(
            f"The audit cannot be confirmed. Entry {fault.seq}: {fault.message} on {iso(fault.purged_at)}.",
            hint="Expect a head that is newer. If nobody kept one, entries may have been replaced.",
        )
    hint = "If entries were kept less long at that time, say so: --retention 30d" if fault.is_early else None
    return Unreadable(f"The audit is not whole. Entry {fault.seq}: {fault.message}.", hint=hint)
