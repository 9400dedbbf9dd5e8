"""Callers remembered for the minutes in which the database cannot be asked."""

from orth.coordinator.http.tools import RememberedUsers
from orth.store.users import User


def user(name: str, version: int = 1) -> User:
    return User(1, name, "hash", version, "admin")


def test_somebody_seen_lately_is_known() -> None:
    users = RememberedUsers(seconds=300)
    assert users.find("ada", 0.0) is None
    users.note(user("ada"), 0.0)
    users.note(user("ada", version=2), 10.0)
    assert users.find("ada", 309.0) == user("ada", version=2)
    assert users.find("ada", 310.0) is None
    assert users.find("eve", 10.0) is None


def test_the_one_seen_longest_ago_makes_room() -> None:
    users = RememberedUsers(limit=2)
    for number, name in enumerate(("ada", "bob", "ada", "cyd")):
        users.note(user(name), float(number))
    assert users.find("bob", 4.0) is None
    assert users.find("ada", 4.0) is not None
    assert users.find("cyd", 4.0) is not None
