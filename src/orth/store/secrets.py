"""Secrets of jobs, sealed: this module never sees a value.

One belongs to a group, or with the group 0 to all of them; a job that names it gets its group's own before that of all.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, literal, select, update
from sqlalchemy.exc import IntegrityError

from orth.domain.job_secrets import EVERY_GROUP
from orth.domain.jobs import Job
from orth.errors import Conflict, NotFound
from orth.store.audit_tables import job_secrets
from orth.store.engines import among, locked
from orth.store.group_scopes import in_groups
from orth.store.tables import jobs

LIMIT = 2000
"""Secrets there may be, at most."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """A secret as it is stored. ``version`` counts how often its value was written."""

    job_group: int
    name: str
    sealed: str
    version: int = 1
    updated_by: str = ""
    update_time: int = 0
    id: int = 0

    @property
    def context(self) -> str:
        """What it is sealed for: copied to another group or name, it does not open."""
        return f"job-secret:{self.job_group}:{self.name}"


def put_secret(connection: Connection, secret: SealedSecret) -> SealedSecret:
    """Store a value, new or in the place of the one before; the secret as it is then."""
    stored = find_secret(connection, secret.job_group, secret.name, hold=True)
    values = {"sealed": secret.sealed, "updated_by": secret.updated_by, "update_time": secret.update_time}
    if stored is not None:
        changed = update(job_secrets).where(job_secrets.c.id == stored.id)
        connection.execute(changed.values(**values, version=stored.version + 1))
    else:
        _add(connection, {"job_group": secret.job_group, "name": secret.name, "version": 1, **values})
    found = find_secret(connection, secret.job_group, secret.name)
    assert found is not None
    return found


def find_secret(connection: Connection, job_group: int, name: str, *, hold: bool = False) -> SealedSecret | None:
    found = select(job_secrets).where(job_secrets.c.job_group == job_group, job_secrets.c.name == name)
    row = connection.execute(locked(found, connection) if hold else found).one_or_none()
    return None if row is None else _secret(row)


def list_secrets(
    connection: Connection, after: int, limit: int, groups: Collection[int] | None = None
) -> list[SealedSecret]:
    """Secrets in order of id, those after ``after``; only of these groups, if any are named."""
    found = select(job_secrets).where(job_secrets.c.id > after, *in_groups(job_secrets.c.job_group, groups))
    return [_secret(row) for row in connection.execute(found.order_by(job_secrets.c.id).limit(limit))]


def delete_secret(connection: Connection, job_group: int, name: str) -> None:
    """Remove one that no job needs."""
    stored = find_secret(connection, job_group, name, hold=True)
    if stored is None:
        raise NotFound("secret", name)
    users = _users(connection, job_group, name)
    if users:
        code = "secret_used" if len(users) <= _SHOWN else "secret_used_by_many"
        raise Conflict.of(code, name=name, others=", ".join(map(str, users[:_SHOWN])))
    connection.execute(delete(job_secrets).where(job_secrets.c.id == stored.id))


def known_names(connection: Connection, job_group: int, names: Iterable[str], *, hold: bool = False) -> set[str]:
    """Those of ``names`` that a job of the group may use; kept from being removed, if ``hold``."""
    found = select(job_secrets.c.name).where(
        job_secrets.c.job_group.in_((job_group, EVERY_GROUP)), among(connection, job_secrets.c.name, names)
    )
    return set(connection.execute(locked(found, connection) if hold else found).scalars())


def secrets_of_jobs(connection: Connection, given: Iterable[Job]) -> Mapping[int, tuple[SealedSecret, ...]]:
    """The sealed secrets of the jobs that name any, by job. One that is not there is left out."""
    wanted = [job for job in given if job.secrets]
    if not wanted:
        return {}
    groups = {EVERY_GROUP, *(job.job_group for job in wanted)}
    names = {name for job in wanted for name in job.secrets}
    rows = connection.execute(
        select(job_secrets).where(
            among(connection, job_secrets.c.job_group, groups), among(connection, job_secrets.c.name, names)
        )
    )
    found = {(row.job_group, row.name): _secret(row) for row in rows}
    return {job.id: tuple(_chosen(found, job)) for job in wanted}


def _chosen(found: Mapping[tuple[int, str], SealedSecret], job: Job) -> Iterable[SealedSecret]:
    for name in job.secrets:
        secret = found.get((job.job_group, name)) or found.get((EVERY_GROUP, name))
        if secret is not None:
            yield secret


def _add(connection: Connection, values: Mapping[str, Any]) -> None:
    if connection.execute(select(func.count()).select_from(job_secrets)).scalar_one() >= LIMIT:
        raise Conflict.of("secrets_full", limit=LIMIT)
    try:
        with connection.begin_nested():
            connection.execute(insert(job_secrets).values(**values))
    except IntegrityError:
        raise Conflict.of("secret_made_meanwhile", name=values["name"]) from None


def _users(connection: Connection, job_group: int, name: str) -> list[int]:
    """Jobs that would be without it."""
    naming = (literal(",") + jobs.c.secrets + ",").contains(f",{name},", autoescape=True)
    found = select(jobs.c.id, jobs.c.job_group).where(jobs.c.secrets.is_not(None), naming).order_by(jobs.c.id)
    if job_group != EVERY_GROUP:
        found = found.where(jobs.c.job_group == job_group)
    rows = connection.execute(found).all()
    others = select(job_secrets.c.job_group).where(job_secrets.c.name == name, job_secrets.c.job_group != job_group)
    instead = set(connection.execute(others).scalars())
    return [row.id for row in rows if not instead & {EVERY_GROUP, row.job_group}]


def _secret(row: Row[Any]) -> SealedSecret:
    return SealedSecret(
        job_group=row.job_group,
        name=row.name,
        sealed=row.sealed,
        version=row.version,
        updated_by=row.updated_by,
        update_time=row.update_time,
        id=row.id,
    )
