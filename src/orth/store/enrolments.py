"""Keys of executors: enrolled, admitted, revoked, forgotten."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, func, or_, select, update

from orth.domain.enrolments import Admission, EnrolledKey, KeyState, first_state
from orth.errors import Conflict, NotFound, TooBusy
from orth.store.engines import among, insert_returning_id, locked
from orth.store.executor_entries import EXECUTOR
from orth.store.registry import Goodbye, remove_executors
from orth.store.tables import groups, registry
from orth.store.token_tables import enrolled_keys as keys
from orth.store.tokens import revoke_token

PER_APP = 10_000
"""Keys of one app, at most. Those about which nobody decided make room, the ones unseen longest first."""
PER_TOKEN = 1_000
"""New keys that may be enrolled with one token within an hour."""
_HOUR = 3_600_000
UNSEEN = timedelta(days=7)
"""After which a key that nobody proves is forgotten. A person's or a join token's decision keeps it longer, and a
revoked one stays for ever: it must not become a new one."""
DECIDED = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Joining:
    """An executor that gives its key."""

    key_id: str
    app_name: str
    sealed: str
    address: str
    source: str
    token_id: int | None
    token_key: str
    join_token: str | None = None
    """The name of the join token that it came with, which is used up by this."""


def enrol(connection: Connection, joining: Joining, now: int) -> tuple[EnrolledKey, bool]:
    """Store a key, or where it comes from by now; whether it is new. ``Conflict`` if the key or its join token is
    over.
    """
    row = connection.execute(locked(select(keys).where(keys.c.key_id == joining.key_id), connection)).one_or_none()
    if row is not None and row.state == KeyState.REVOKED:
        raise Conflict.of("executor_key_revoked", executor=row.id)
    if joining.join_token is not None and joining.token_id is not None:
        revoke_once(connection, joining.token_id, now)
    known = None if row is None else _key(row)
    if known is None or known.app_name != joining.app_name:
        state = first_state(admission_of(connection, joining.app_name), joins=joining.join_token is not None)
        decided = joining.join_token is not None
    else:
        state = KeyState.ADMITTED if joining.join_token is not None else known.state
        decided = joining.join_token is not None
    values: dict[str, Any] = {
        "app_name": joining.app_name,
        "sealed": joining.sealed,
        "state": state.value,
        "address": joining.address,
        "source": joining.source,
        "token_id": joining.token_id,
        "token_key": joining.token_key,
    }
    if decided:
        values |= {"decided_by": f"join token {joining.join_token}"[:64], "decided_at": now}
    if known is None:
        _make_room(connection, joining, now)
        new = {"key_id": joining.key_id, "first_seen": now, "decided_by": None, "decided_at": None, **values}
        key_id = insert_returning_id(connection, keys, new)
        return get_enrolled(connection, key_id), True
    if known.app_name != joining.app_name and not decided:
        values |= {"decided_by": None, "decided_at": None}
    connection.execute(update(keys).where(keys.c.id == known.id).values(**values))
    return get_enrolled(connection, known.id), known.app_name != joining.app_name


def revoke_once(connection: Connection, token_id: int, now: int) -> None:
    """Use up a join token; ``Conflict`` if somebody was faster."""
    if revoke_token(connection, token_id, now).revoked_at is not None:
        raise Conflict.of("join_token_used")


def _make_room(connection: Connection, joining: Joining, now: int) -> None:
    of_app, lately = keys.c.app_name == joining.app_name, keys.c.first_seen > now - _HOUR
    of_token = keys.c.token_key == joining.token_key
    if _count(connection, and_(of_token, lately)) >= PER_TOKEN:
        raise TooBusy("Too many executors were enrolled with this token within an hour.", hint="Try again later.")
    if _count(connection, of_app) < PER_APP:
        return
    seen = func.coalesce(keys.c.last_seen, keys.c.first_seen)
    idle = select(keys.c.id).where(of_app, keys.c.decided_by.is_(None), seen < now - _HOUR)
    ids = list(connection.scalars(idle.order_by(seen).limit(100)))
    if not ids:
        raise TooBusy("This app has as many executor keys as it may have.", hint="Revoke those that nobody needs.")
    connection.execute(delete(keys).where(among(connection, keys.c.id, ids)))


def _count(connection: Connection, condition: Any) -> int:  # Any: a comparison, which SQLAlchemy types wider
    return int(connection.execute(select(func.count()).select_from(keys).where(condition)).scalar_one())


def admission_of(connection: Connection, app_name: str) -> Admission:
    """Whom the group of an app lets in; where there is none yet, whoever has a token."""
    found = connection.execute(select(groups.c.admission).where(groups.c.app_name == app_name)).scalar()
    return Admission.OPEN if found in (None, Admission.OPEN.value) else Admission.KNOWN


def find_enrolled(connection: Connection, key_id: str) -> EnrolledKey | None:
    row = connection.execute(select(keys).where(keys.c.key_id == key_id)).one_or_none()
    return None if row is None else _key(row)


def get_enrolled(connection: Connection, executor_id: int) -> EnrolledKey:
    row = connection.execute(select(keys).where(keys.c.id == executor_id)).one_or_none()
    if row is None:
        raise NotFound("executor key", executor_id)
    return _key(row)


def list_enrolled(
    connection: Connection,
    after: int,
    limit: int,
    *,
    among_apps: Collection[str] | None = None,
    state: KeyState | None = None,
) -> list[EnrolledKey]:
    """Keys in order of id, those after ``after``; only of these apps, in this state."""
    wanted = [keys.c.id > after]
    if among_apps is not None:
        wanted.append(among(connection, keys.c.app_name, list(among_apps)))
    if state is not None:
        wanted.append(keys.c.state == state.value)
    return [_key(row) for row in connection.execute(select(keys).where(*wanted).order_by(keys.c.id).limit(limit))]


def apps_enrolled_at(connection: Connection, address: str) -> set[str]:
    """The apps of which an executor proved a key of its own at ``address``."""
    return set(connection.scalars(select(keys.c.app_name).where(keys.c.address == address).distinct()))


def note_proved(connection: Connection, executor_id: int, now: int) -> None:
    """A key was proved."""
    connection.execute(update(keys).where(keys.c.id == executor_id).values(last_seen=now))


def admit_key(connection: Connection, executor_id: int, by: str, now: int) -> EnrolledKey:
    """Let an executor in, whatever let it knock; how it was."""
    return _decide(connection, executor_id, KeyState.ADMITTED, by, now)


def revoke_key(
    connection: Connection, executor_id: int, by: str, now: int
) -> tuple[EnrolledKey, list[tuple[str, str]]]:
    """Let an executor in no more, and take it off the list; how it was, and where it was registered."""
    before = _decide(connection, executor_id, KeyState.REVOKED, by, now)
    rows = connection.execute(
        select(registry.c.registry_key, registry.c.registry_value, registry.c.work_key).where(
            registry.c.registry_group == EXECUTOR, registry.c.key_id == before.key_id
        )
    ).all()
    goodbyes = [Goodbye(row.registry_key, row.registry_value, proved=row.work_key) for row in rows]
    remove_executors(connection, goodbyes, now)
    return before, [(row.registry_key, row.registry_value) for row in rows]


def remove_unknown(connection: Connection, app_name: str, now: int) -> None:
    """Take executors without a key of their own off the list of an app."""
    rows = connection.execute(
        select(registry.c.registry_value).where(
            registry.c.registry_group == EXECUTOR, registry.c.registry_key == app_name, registry.c.work_key.is_(None)
        )
    )
    remove_executors(connection, [Goodbye(app_name, row.registry_value) for row in rows.all()], now)


def _decide(connection: Connection, executor_id: int, state: KeyState, by: str, now: int) -> EnrolledKey:
    row = connection.execute(locked(select(keys).where(keys.c.id == executor_id), connection)).one_or_none()
    if row is None:
        raise NotFound("executor key", executor_id)
    if row.state == KeyState.REVOKED:
        raise Conflict.of("executor_key_revoked", executor=executor_id)
    values = {"state": state.value, "decided_by": by[:64], "decided_at": now}
    connection.execute(update(keys).where(keys.c.id == executor_id).values(**values))
    return _key(row)


def drop_unseen_keys(connection: Connection, now: int) -> None:
    """Forget keys that nobody has proved for long."""
    seen = func.coalesce(keys.c.last_seen, keys.c.first_seen)
    unseen, decided = (now - int(span.total_seconds() * 1000) for span in (UNSEEN, DECIDED))
    of_time = or_(and_(keys.c.decided_by.is_(None), seen < unseen), seen < decided)
    connection.execute(delete(keys).where(keys.c.state != KeyState.REVOKED.value, of_time))


def _key(row: Row[Any]) -> EnrolledKey:
    return EnrolledKey(
        row.id,
        row.key_id,
        row.app_name,
        row.sealed,
        KeyState(row.state),
        row.address,
        row.source,
        row.token_id,
        row.token_key,
        row.first_seen,
        row.last_seen,
        row.decided_by,
        row.decided_at,
    )
