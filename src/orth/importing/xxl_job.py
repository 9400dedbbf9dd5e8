"""The whole way of an import, from an address or a file to a report."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from pydantic import TypeAdapter, ValidationError

from orth.clock import Clock
from orth.coordinator.http.texts import AppName
from orth.domain.cron.zones import zone_named
from orth.errors import Invalid
from orth.importing.exports import read_export
from orth.importing.fields import shown
from orth.importing.mapping import Mapped, MappedJob, mapped
from orth.importing.readings import offset_of, offset_there, readings, shown_offset
from orth.importing.report import Report
from orth.importing.storing import Wishes, store
from orth.store.database import open_database
from orth.store.migrating import check_schema

_PATIENCE = 60.0


def import_xxl_job(
    origin: str, store_url: str, *, timezone: str | None, wishes: Wishes, dry_run: bool, clock: Clock
) -> Report:
    """Take over what is at ``origin`` into the store; with ``dry_run`` only say what would happen. Without a
    ``timezone``, jobs with cron expressions are not taken over.

    A dry run is the same transaction, rolled back at its end: what it says is what an import would do.
    """
    if timezone is not None:
        zone_named(timezone)
    for app_name in wishes.app_names.values():
        _check_app_name(app_name)
    check_schema(store_url)
    found = mapped(read_export(origin), timezone, clock.now())
    if not (found.groups or found.jobs or found.users or found.refused):
        raise Invalid("There is nothing to import: no groups, no jobs, no users.")
    report = asyncio.run(_store(store_url, found, wishes, dry_run, clock.now()))
    return _with_readings(report, found.jobs, timezone, clock.now())


def _with_readings(report: Report, jobs: Sequence[MappedJob], timezone: str | None, now: int) -> Report:
    there = offset_there(jobs)
    told = there is not None and (timezone is None or offset_of(timezone, now) != there)
    zone_there = shown_offset(there) if told and there is not None else None
    return replace(report, timezone=timezone, schedules=readings(jobs, timezone, now), zone_there=zone_there)


def _check_app_name(app_name: str) -> None:
    try:
        TypeAdapter(AppName).validate_python(app_name)
    except ValidationError:
        raise Invalid(
            f"{shown(app_name)} cannot be an app name.",
            hint="It has 4 to 64 letters, digits, dots, hyphens and underscores.",
        ) from None


async def _store(store_url: str, found: Mapped, wishes: Wishes, dry_run: bool, now: int) -> Report:
    with open_database(store_url, size=1, patience=_PATIENCE) as db:
        if dry_run:
            return replace(await db.dry_run(store, found, wishes, now), dry_run=True)
        return await db.tx(store, found, wishes, now)
