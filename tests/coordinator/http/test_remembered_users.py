"""Callers remembered for the minutes in which the database cannot be asked."""

from orth.coordinator.http.tools import RememberedSessions
from orth.domain.sessions import Session, SessionKind, Way
from orth.store.sessions import SignedIn
from orth.store.users import User


def signed_in(name: str, seen_at: int = 0) -> SignedIn:
    session = Session(
        id=name,
        user_id=1,
        kind=SessionKind.TOKENS,
        way=Way.PASSWORD,
        password_version=1,
        digest="",
        created_at=0,
        seen_at=seen_at,
        idle_until=1,
        expires_at=1,
        address="",
        agent="",
    )
    return SignedIn(session, User(1, name, "hash", 1, "admin"))


def test_somebody_seen_lately_is_known() -> None:
    sessions = RememberedSessions(seconds=300)
    assert sessions.find("ada", 0.0) is None
    sessions.note(signed_in("ada"), 0.0)
    sessions.note(signed_in("ada", seen_at=2), 10.0)
    assert sessions.find("ada", 309.0) == signed_in("ada", seen_at=2)
    assert sessions.find("ada", 310.0) is None
    assert sessions.find("eve", 10.0) is None


def test_the_one_seen_longest_ago_makes_room() -> None:
    sessions = RememberedSessions(limit=2)
    for number, name in enumerate(("ada", "bob", "ada", "cyd")):
        sessions.note(signed_in(name), float(number))
    assert sessions.find("bob", 4.0) is None
    assert sessions.find("ada", 4.0) is not None
    assert sessions.find("cyd", 4.0) is not None


def test_a_session_that_ended_is_not_remembered() -> None:
    sessions = RememberedSessions()
    sessions.note(signed_in("ada"), 0.0)
    sessions.forget(["ada", "eve"])
    assert sessions.find("ada", 1.0) is None
