"""Sessions that somebody hangs on: told at once, or when the store is looked at, which one does for all."""

from orth.coordinator.signing_in.held import LOOK_EVERY, HeldSessions
from orth.coordinator.signing_in.sessions import Lifetimes, Origin, begin_session
from orth.domain.sessions import SessionKind, Way
from orth.settings import Settings
from orth.store.database import Connection, Database
from orth.store.sessions import end_sessions
from orth.store.users import add_user, find_user
from orth.testing import ManualClock

LIFETIMES = Lifetimes.of(Settings())


def begin(connection: Connection, now: int) -> str:
    add_user(connection, "ada", "!", "viewer", now)
    ada = find_user(connection, "ada")
    assert ada is not None
    origin = Origin("203.0.113.7", "")
    kind, way = SessionKind.BROWSER, Way.PASSWORD
    return begin_session(connection, ada, kind, way, origin, lifetimes=LIFETIMES, now=now).session.id


def test_who_holds_an_ended_session_is_told_and_nobody_else() -> None:
    held = HeldSessions()
    with held.held("one") as first, held.held("one") as second, held.held("other") as third, held.held(None) as none:
        held.tell_over(["one", "nobody's"])
        assert [over.is_set() for over in (first, second, third, none)] == [True, True, False, False]


async def test_the_store_is_asked_for_all_but_not_all_the_time(db: Database) -> None:
    clock, held = ManualClock(), HeldSessions()
    one, other = await db.tx(begin, clock.now()), await db.tx(begin, clock.now())
    ada = await db.read(find_user, "ada")
    assert ada is not None
    with held.held(one) as first, held.held(other) as second:
        await held.look(db, clock)
        assert not first.is_set()
        await db.tx(end_sessions, ada.id, but=other)
        await held.look(db, clock)
        assert not first.is_set()  # it was looked at just now
        clock.move(LOOK_EVERY)
        await held.look(db, clock)
        assert (first.is_set(), second.is_set()) == (True, False)
    clock.move(LOOK_EVERY)
    with held.held(one) as again:
        await held.look(db, clock)
        assert again.is_set()
