"""Groups: executors that share an app name, and where to find them.

A row may hold what this version does not know, written by a newer node or by hand. It is read all the same, and says
what is unknown (``Group.unknown``): what its executors have must still be watched, asked about and ended.
"""

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import Connection, Row, delete, exists, func, or_, select, update
from sqlalchemy.exc import IntegrityError

from orth.domain.enrolments import Admission
from orth.domain.executions import OPEN_PHASES
from orth.domain.jobs import AddressType, Group, GroupDialect
from orth.errors import Conflict, NotFound
from orth.store.access_tables import user_grants
from orth.store.audit_tables import job_secrets
from orth.store.engines import among, insert_returning_id, locked
from orth.store.group_scopes import in_groups
from orth.store.tables import executions, groups, jobs


def create_group(connection: Connection, group: Group, now: int) -> int:
    """Store ``group`` (its id is ignored) and give its id; ``Conflict`` when the app name is taken."""
    row = {
        "app_name": group.app_name,
        "title": group.title,
        "address_type": int(group.address_type),
        "address_list": ",".join(group.addresses),
        "update_time": now,
        "dialect": group.dialect,
        "scripts_allowed": int(group.scripts_allowed),
        "admission": group.admission.value,
    }
    try:
        with connection.begin_nested():
            return insert_returning_id(connection, groups, row)
    except IntegrityError:
        raise Conflict.of("group_exists", group=group.app_name) from None


def get_group(connection: Connection, group_id: int) -> Group:
    row = connection.execute(select(groups).where(groups.c.id == group_id)).one_or_none()
    if row is None:
        raise NotFound("group", group_id)
    return _group(row)


def groups_by_id(connection: Connection, ids: set[int]) -> dict[int, Group]:
    rows = connection.execute(select(groups).where(among(connection, groups.c.id, ids)))
    return {row.id: _group(row) for row in rows}


def find_group(connection: Connection, app_name: str) -> Group | None:
    row = connection.execute(select(groups).where(groups.c.app_name == app_name)).one_or_none()
    return None if row is None else _group(row)


def list_groups(connection: Connection, after: int, limit: int, *, among: Collection[int] | None = None) -> list[Group]:
    """Groups in order of id, those after ``after``; only of these."""
    found = select(groups).where(groups.c.id > after, *in_groups(groups.c.id, among))
    rows = connection.execute(found.order_by(groups.c.id).limit(limit))
    return [_group(row) for row in rows]


def count_empty_groups(connection: Connection) -> int:
    """How many groups list no address, neither by hand nor by the registry."""
    empty = or_(groups.c.address_list.is_(None), groups.c.address_list == "")
    return int(connection.execute(select(func.count()).select_from(groups).where(empty)).scalar_one())


def set_group(connection: Connection, group: Group, now: int) -> None:
    """Write title and address choice of an existing group; its app name is its identity and stays."""
    values: dict[str, Any] = {
        "title": group.title,
        "address_type": int(group.address_type),
        "update_time": now,
        "dialect": group.dialect,
        "scripts_allowed": int(group.scripts_allowed),
        "admission": group.admission.value,
    }
    if group.address_type is AddressType.MANUAL:
        values["address_list"] = ",".join(group.addresses)
    if connection.execute(update(groups).where(groups.c.id == group.id).values(**values)).rowcount == 0:
        raise NotFound("group", group.id)


def delete_group(connection: Connection, group_id: int) -> None:
    """Remove a group that has no jobs and no open executions."""
    known = select(groups.c.id, groups.c.app_name).where(groups.c.id == group_id)
    group = connection.execute(locked(known, connection)).one_or_none()
    if group is None:
        raise NotFound("group", group_id)
    if connection.execute(select(exists().where(jobs.c.job_group == group_id))).scalar():
        raise Conflict.of("group_has_jobs", group=group.app_name)
    open_one = exists().where(executions.c.phase.in_(OPEN_PHASES), executions.c.job_group == group_id)
    if connection.execute(select(open_one)).scalar():
        raise Conflict.of("group_has_open", group=group.app_name)
    connection.execute(delete(groups).where(groups.c.id == group_id))
    connection.execute(delete(user_grants).where(user_grants.c.group_id == group_id))
    connection.execute(delete(job_secrets).where(job_secrets.c.job_group == group_id))


def manual_addresses(connection: Connection) -> list[tuple[str, str]]:
    """The addresses people wrote into lists, each with the app name of that group."""
    return [(address, app_name) for address, app_name, _dialect in manual_dialects(connection)]


def manual_dialects(connection: Connection) -> list[tuple[str, str, GroupDialect]]:
    """The same, each with the dialect of that group."""
    rows = connection.execute(select(groups).where(groups.c.address_type == int(AddressType.MANUAL)))
    return [
        (address, row.app_name, _DIALECTS.get(row.dialect, GroupDialect.AUTO))
        for row in rows
        for address in _addresses(row)
    ]


def automatic_addresses(connection: Connection) -> dict[str, tuple[str, ...]]:
    """What the automatic groups list, by app name."""
    rows = connection.execute(select(groups).where(groups.c.address_type == int(AddressType.AUTO)))
    return {row.app_name: _addresses(row) for row in rows}


def hold_automatic_group(connection: Connection, app_name: str) -> bool:
    """Lock the group of ``app_name`` until the transaction ends; False if there is none or its list is manual."""
    row = select(groups.c.id).where(groups.c.app_name == app_name, groups.c.address_type == int(AddressType.AUTO))
    return connection.execute(locked(row, connection)).one_or_none() is not None


def edit_automatic_addresses(
    connection: Connection, app_name: str, now: int, *, added: Iterable[str] = (), removed: Iterable[str] = ()
) -> None:
    """Add and remove addresses of an automatic group, if there is one: far cheaper than to list them all anew."""
    row = select(groups).where(groups.c.app_name == app_name, groups.c.address_type == int(AddressType.AUTO))
    stored = connection.execute(locked(row, connection)).one_or_none()
    if stored is not None:
        gone, listed = set(removed), _addresses(stored)
        kept = [address for address in listed if address not in gone]
        new = set(added).difference(listed)
        set_automatic_addresses(connection, app_name, sorted([*kept, *new]), now)


def set_automatic_addresses(connection: Connection, app_name: str, addresses: list[str], now: int) -> None:
    """Let the address list of an automatic group follow the registry; manual lists are left alone."""
    listed = ",".join(addresses)
    connection.execute(
        update(groups)
        .where(
            groups.c.app_name == app_name,
            groups.c.address_type == int(AddressType.AUTO),
            groups.c.address_list != listed,
        )
        .values(address_list=listed, update_time=now)
    )


def unreadable_groups(connection: Connection, limit: int) -> list[Group]:
    """Groups with something that this version does not know, in order of id."""
    strange = or_(groups.c.dialect.not_in(_DIALECTS), groups.c.address_type.not_in(_ADDRESS_TYPES))
    rows = connection.execute(select(groups).where(strange).order_by(groups.c.id).limit(limit))
    return [_group(row) for row in rows]


_DIALECTS = {one.value: one for one in GroupDialect}
_ADDRESS_TYPES = {one.value: one for one in AddressType}


def _group(row: Row[Any]) -> Group:
    dialect, address_type = _DIALECTS.get(row.dialect), _ADDRESS_TYPES.get(row.address_type)
    unknown: list[tuple[str, object]] = []
    if dialect is None:
        dialect = GroupDialect.AUTO  # a question in the wrong dialect is answered by an error, which says nothing
        unknown.append(("dialect", row.dialect))
    if address_type is None:
        address_type = AddressType.MANUAL  # so nobody concludes anything from an absence from the registry
        unknown.append(("address_type", row.address_type))
    return Group(
        row.id,
        row.app_name,
        row.title,
        address_type,
        _addresses(row),
        dialect,
        tuple(unknown),
        scripts_allowed=row.scripts_allowed == 1,
        admission=Admission.OPEN if row.admission == Admission.OPEN.value else Admission.KNOWN,
    )


def _addresses(row: Row[Any]) -> tuple[str, ...]:
    return tuple(part for part in (row.address_list or "").split(",") if part)
