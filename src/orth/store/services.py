"""Services that registered: orchestrators and agents.

One row for each kind and url, which keeps its id for as long as it is there: a process that was restarted comes back
as the one it was. Who has the token of an app can say any url, and so has rows of his own: nobody takes a url from
anybody, nor keeps him from it. Every change that others are told of is written together with its event.

Rows are locked first, and events are told last (see ``service_events``): in this order nobody waits in a circle.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, delete, func, or_, select, update

from orth.domain.services import (
    Failing,
    Happening,
    Service,
    ServiceKind,
    ServiceStatus,
    Standing,
    after_beat,
    after_health,
    after_report,
    after_silence,
)
from orth.store.engines import among, insert_new, locked, update_many
from orth.store.executor_entries import executor_at_port
from orth.store.service_events import Told, last_seq, tell
from orth.store.service_tables import services

_Word = TypeVar("_Word", bound=StrEnum)

_CHUNK = 500  # values in one statement
_columns = services.c
# A newer version may know more kinds; theirs are not shown here.
_READABLE = _columns.kind.in_([str(kind) for kind in ServiceKind])


@dataclass(frozen=True, slots=True)
class Registration:
    """A service says that it is there. ``proposed_id`` will be its id if nobody is known at its url."""

    kind: ServiceKind
    url: str
    proposed_id: str
    incarnation: str | None = None
    orchestrator_id: str | None = None
    name: str | None = None
    apps: frozenset[str] | None = None
    """The names whoever says so speaks for, None: all. Rows of others stay as they are."""
    bounded: bool = True
    """Whether the limit holds for it. Coordinators of this database are not bounded: one that left can come back."""

    @property
    def owner(self) -> str:
        return "" if self.apps is None else self.name or ""


@dataclass(frozen=True, slots=True)
class Beat:
    """A service says that it lives."""

    kind: ServiceKind
    id: str


@dataclass(frozen=True, slots=True)
class Report:
    """A service says what its status is, and so that it lives."""

    kind: ServiceKind
    id: str
    status: ServiceStatus


@dataclass(frozen=True, slots=True)
class Departure:
    """A service says good-bye."""

    kind: ServiceKind
    id: str


Said = Registration | Beat | Report | Departure


class Rejection(StrEnum):
    """Why a service was not entered."""

    FULL = "full"  # its token has as many services as it may have
    NO_EXECUTOR = "no_executor"  # the app has no executor at this host and port


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of something a service said."""

    id: str | None
    """Of the service; None when it is not known, or was rejected."""
    news: Service | None = None
    """The service, if others were told of this."""
    before: Service | None = None
    """As it was, if it was known."""
    rejection: Rejection | None = None


@dataclass(frozen=True, slots=True)
class Watched:
    """A service as somebody watched it: it is changed only if it has not beaten since."""

    id: str
    beats: int


# --- what services say ------------------------------------------------------------------------------------------------


def carry_out(connection: Connection, said: Sequence[Said], limit: int, now: int) -> list[Outcome]:
    """Write what services say, in its order, and tell of it; what became of each. Each token registers at most
    ``limit`` services of one kind.
    """
    outcomes: list[Outcome] = []
    told: list[Told] = []
    for kind, some in groupby(said, type):
        if kind is Registration:
            outcomes += _register(connection, [one for one in some if isinstance(one, Registration)], limit, now, told)
        elif kind is Beat:
            outcomes += _beat(connection, [one for one in some if isinstance(one, Beat)], now, told)
        elif kind is Report:
            outcomes += [_report(connection, one, now, told) for one in some if isinstance(one, Report)]
        else:
            outcomes += [_depart(connection, one, told) for one in some if isinstance(one, Departure)]
    tell(connection, told, now)
    return outcomes


def _register(
    connection: Connection, asked: Sequence[Registration], limit: int, now: int, told: list[Told]
) -> list[Outcome]:
    outcomes = []
    for one in asked:
        known = _at(connection, one)
        if known is None:
            if (rejection := _rejection(connection, one, limit)) is not None:
                outcomes.append(Outcome(None, rejection=rejection))
                continue
            known = _enter(connection, one, now)
            again = known.id != one.proposed_id  # somebody else has just entered it
        else:
            again = True
        service, news = _entered_again(one, known, now) if again else (known, True)
        if again:
            _write(connection, [service])
        if news:
            told.append(Told(Happening.REGISTERED, service))
        outcomes.append(Outcome(service.id, service if news else None, known if again else None))
    return outcomes


def _at(connection: Connection, asked: Registration) -> Service | None:
    here = select(services).where(_columns.kind == str(asked.kind), _columns.url == asked.url)
    rows = connection.execute(locked(here.order_by(_columns.id), connection))
    return _meant(asked, [_service(row) for row in rows])


def _meant(asked: Registration, found: Sequence[Service]) -> Service | None:
    """Which of those at its url a service is: its owner's, or else the one of the same name, if one of both speaks for
    all. Who does may also rename the only one.
    """
    own = [one for one in found if one.owner == asked.owner]
    same = [one for one in found if one.name == asked.name and "" in (asked.owner, one.owner)]
    only = found if asked.apps is None and len(found) == 1 else ()
    return next(iter((*own, *same, *only)), None)


def _rejection(connection: Connection, asked: Registration, limit: int) -> Rejection | None:
    """Why a service may not be entered. The limit is one for each kind and owner, so that no owner uses up what another
    one needs; and the token of an app enters agents only where that app has an executor, so that it cannot make
    coordinators call other addresses.
    """
    if asked.owner and not executor_at_port(connection, asked.owner, asked.url, asked.incarnation):
        return Rejection.NO_EXECUTOR
    theirs = (_columns.kind == str(asked.kind), _columns.owner == asked.owner)
    if asked.bounded and connection.execute(select(func.count()).where(*theirs)).scalar_one() >= limit:
        return Rejection.FULL
    return None


def _enter(connection: Connection, asked: Registration, now: int) -> Service:
    new = Service(
        id=asked.proposed_id,
        kind=asked.kind,
        url=asked.url,
        incarnation=asked.incarnation,
        orchestrator_id=asked.orchestrator_id,
        name=asked.name,
        standing=Standing(ServiceStatus.STARTING),
        registered_at=now,
        last_heartbeat=now,
        beats=1,
        owner=asked.owner,
    )
    insert_new(connection, services, [_row(new)])
    return _at(connection, asked) or new


def _entered_again(asked: Registration, known: Service, now: int) -> tuple[Service, bool]:
    """The known service after it has registered again, and whether that is news. It is none when the same process only
    did not hear the answer.
    """
    alive = replace(known, last_heartbeat=now, beats=known.beats + 1)
    said = replace(alive, incarnation=asked.incarnation, orchestrator_id=asked.orchestrator_id)
    said = replace(said, name=asked.name, owner=asked.owner)
    same_process = asked.incarnation is not None and asked.incarnation == known.incarnation
    if same_process and said == alive and known.status is not ServiceStatus.FAILED:
        return alive, False
    since = known.registered_at if same_process else now
    return replace(said, standing=Standing(ServiceStatus.STARTING), registered_at=since), True


def _beat(connection: Connection, beats: Sequence[Beat], now: int, told: list[Told]) -> list[Outcome]:
    """Most are of services that only go on: those cost one statement together."""
    wanted = {(beat.kind, beat.id) for beat in beats}
    if _beat_on(connection, wanted, now) == len(wanted):
        return [Outcome(beat.id) for beat in beats]

    def beaten(one: Service) -> Service | None:
        if (one.kind, one.id) not in wanted:
            return None
        return replace(one, last_heartbeat=now, beats=one.beats + 1, standing=after_beat(one.standing))

    found = _change(connection, {one for _kind, one in wanted}, beaten, told)
    return [found.get(beat.id, _NOBODY) for beat in beats]


def _beat_on(connection: Connection, wanted: Iterable[tuple[ServiceKind, str]], now: int) -> int:
    """Beat for those who need nothing else; how many they are."""
    done = 0
    for kind in ServiceKind:
        for chunk in _chunks(sorted(one for of, one in wanted if of is kind)):
            goes_on = or_(_columns.failing.is_(None), _columns.failing != str(Failing.SILENCE))
            theirs = among(connection, _columns.id, chunk), _columns.kind == str(kind), goes_on
            beaten = update(services).where(*theirs).values(last_heartbeat=now, beats=_columns.beats + 1)
            done += connection.execute(beaten).rowcount
    return done


def _report(connection: Connection, report: Report, now: int, told: list[Told]) -> Outcome:
    def reported(one: Service) -> Service | None:
        if one.kind is not report.kind:
            return None
        standing = after_report(one.standing, report.status)
        return replace(one, last_heartbeat=now, beats=one.beats + 1, standing=standing)

    return _change(connection, [report.id], reported, told).get(report.id, _NOBODY)


def _depart(connection: Connection, departure: Departure, told: list[Told]) -> Outcome:
    found = [one for one in _held(connection, [departure.id]) if one.kind is departure.kind]
    _remove(connection, found, told)
    return Outcome(found[0].id, found[0], found[0]) if found else _NOBODY


# --- what others find -------------------------------------------------------------------------------------------------


def fail_silent(connection: Connection, silent: Sequence[Watched], now: int) -> list[Service]:
    """Make those Failed that have not beaten since; those that are by it."""
    watched = {one.id: one.beats for one in silent}

    def failed(one: Service) -> Service | None:
        return replace(one, standing=after_silence(one.standing, now)) if one.beats == watched[one.id] else None

    return _changed(connection, watched, failed, now)


def record_health(connection: Connection, well: Mapping[str, bool], silent_before: int, now: int) -> list[Service]:
    """Write what health checks found; those whose status changes by it. Who has not beaten since ``silent_before``
    stays Failed though it is well.
    """

    def found(one: Service) -> Service | None:
        silent = one.last_heartbeat < silent_before
        standing = after_health(one.standing, now, well=well[one.id], silent=silent)
        return replace(one, standing=standing) if standing != one.standing else None

    return _changed(connection, well, found, now)


def forget_services(connection: Connection, silent: Sequence[Watched], now: int) -> list[Service]:
    """Remove those that have not beaten since; those removed."""
    watched = {one.id: one.beats for one in silent}
    found = [one for one in _held(connection, watched) if one.beats == watched[one.id]]
    told: list[Told] = []
    _remove(connection, found, told)
    tell(connection, told, now)
    return found


# --- looking ----------------------------------------------------------------------------------------------------------


def service_name(connection: Connection, kind: ServiceKind, service_id: str) -> str | None:
    """What a service calls itself, nothing if it does not say; None when it is not known."""
    found = select(services.c.name).where(services.c.kind == kind.value, services.c.id == service_id)
    row = connection.execute(found).one_or_none()
    return None if row is None else row.name or ""


def list_services(
    connection: Connection, kind: ServiceKind | None = None, *, orchestrator_id: str | None = None
) -> tuple[list[Service], int]:
    """Services, those that registered first coming first, and the number of the event from which on changes to this
    list are told.
    """
    seq = last_seq(connection)  # first: what changes meanwhile is told once more, and nothing is missed
    conditions = [_READABLE if kind is None else _columns.kind == str(kind)]
    if orchestrator_id is not None:
        conditions.append(_columns.orchestrator_id == orchestrator_id)
    found = select(services).where(*conditions).order_by(_columns.registered_at, _columns.id)
    return [_service(row) for row in connection.execute(found)], seq


def list_overdue(connection: Connection, before: int) -> list[Service]:
    """Services that have not beaten since ``before``."""
    found = select(services).where(_READABLE, _columns.last_heartbeat < before).order_by(_columns.last_heartbeat)
    return [_service(row) for row in connection.execute(found)]


def count_services(connection: Connection) -> dict[tuple[str, str], int]:
    """How many there are of each kind and status."""
    counted = select(_columns.kind, _columns.status, func.count()).group_by(_columns.kind, _columns.status)
    return {(kind, status): count for kind, status, count in connection.execute(counted)}


# --- rows -------------------------------------------------------------------------------------------------------------


def _changed(
    connection: Connection, wanted: Iterable[str], change: Callable[[Service], Service | None], now: int
) -> list[Service]:
    told: list[Told] = []
    _change(connection, wanted, change, told)
    tell(connection, told, now)
    return [one.service for one in told]


def _change(
    connection: Connection, wanted: Iterable[str], change: Callable[[Service], Service | None], told: list[Told]
) -> dict[str, Outcome]:
    """Let ``change`` say what each of these becomes; None: it stays as it is, and counts as not found."""
    outcomes = {}
    written = []
    for one in _held(connection, wanted):
        new = change(one)
        if new is not None:
            news = new.status is not one.status
            outcomes[one.id] = Outcome(one.id, new if news else None, one)
            written.append(new)
            if news:
                told.append(Told(Happening.STATUS_CHANGED, new))
    _write(connection, written)
    return outcomes


def _held(connection: Connection, ids: Iterable[str]) -> Iterator[Service]:
    """Those that exist, locked in an order that is the same for everybody."""
    for chunk in _chunks(sorted(ids)):
        rows = select(services).where(among(connection, _columns.id, chunk), _READABLE).order_by(_columns.id)
        for row in connection.execute(locked(rows, connection)).all():
            yield _service(row)


def _remove(connection: Connection, found: Sequence[Service], told: list[Told]) -> None:
    for chunk in _chunks([one.id for one in found]):
        connection.execute(delete(services).where(among(connection, _columns.id, chunk)))
    told += [Told(Happening.UNREGISTERED, one) for one in found]


def _write(connection: Connection, changed: Sequence[Service]) -> None:
    update_many(connection, services, ("id",), [_row(one) for one in changed])


def _row(service: Service) -> dict[str, Any]:
    standing = service.standing
    return {
        "id": service.id,
        "kind": str(service.kind),
        "url": service.url,
        "incarnation": service.incarnation,
        "orchestrator_id": service.orchestrator_id,
        "name": service.name,
        "status": str(standing.status),
        "failing": None if standing.failing is None else str(standing.failing),
        "failing_since": standing.failing_since,
        "status_before": None if standing.before is None else str(standing.before),
        "registered_at": service.registered_at,
        "last_heartbeat": service.last_heartbeat,
        "beats": service.beats,
        "owner": service.owner,
    }


def _service(row: Row[Any]) -> Service:
    standing = Standing(
        status=_known(ServiceStatus, row.status) or ServiceStatus.STARTING,
        failing=_known(Failing, row.failing),
        failing_since=row.failing_since,
        before=_known(ServiceStatus, row.status_before),
    )
    return Service(
        id=row.id,
        kind=ServiceKind(row.kind),
        url=row.url,
        incarnation=row.incarnation,
        orchestrator_id=row.orchestrator_id,
        name=row.name,
        standing=standing,
        registered_at=row.registered_at,
        last_heartbeat=row.last_heartbeat,
        beats=row.beats,
        owner=row.owner,
    )


def _known(kind: type[_Word], text: str | None) -> _Word | None:
    """A word of ours, or None for one that only a newer version knows."""
    return kind(text) if text in {str(word) for word in kind} else None


_NOBODY = Outcome(None)


def _chunks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), _CHUNK):
        yield ids[start : start + _CHUNK]
