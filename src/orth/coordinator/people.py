"""People: who may sign in, and what they may. Each function is one unit of work, with its entry in the audit.

There is always an administrator: whoever would take the last one away is refused, and two who would take each other
away come one after the other.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from orth.coordinator.signing import hash_password
from orth.domain.access import Role
from orth.domain.audit import Actor, Deed
from orth.errors import Conflict, Invalid, NotFound
from orth.guessable import is_guessable, is_name
from orth.store.audit import record
from orth.store.database import Connection, open_database
from orth.store.sessions import end_sessions
from orth.store.tokens import revoke_api_tokens_of
from orth.store.users import (
    User,
    add_user,
    find_user,
    get_user,
    hold_admins,
    hold_groups,
    remove_user,
    set_disabled,
    set_grants,
    set_password,
    set_role,
)

SHORTEST_PASSWORD = 10
_MADE_BYTES = 18


@dataclass(frozen=True, slots=True)
class Standing:
    """What somebody may: a role everywhere, or none; others in single groups; and whether they are let in at all."""

    role: Role | None = None
    grants: Mapping[int, Role] | None = None
    disabled: bool = False

    @classmethod
    def of(cls, user: User) -> "Standing":
        return cls(user.rights.everywhere, user.grants, user.disabled_at is not None)

    def told(self) -> dict[str, object]:
        """As the audit has it."""
        grants = {str(group): str(role) for group, role in sorted((self.grants or {}).items())}
        return {"role": self.role, "grants": grants, "disabled": self.disabled}


def add_person(
    connection: Connection, actor: Actor, username: str, password_hash: str, standing: Standing, now: int
) -> int:
    """Store somebody new; their id."""
    if not add_user(connection, username, password_hash, standing.role or "", now):
        raise Conflict.of("user_exists", name=username)
    user = find_user(connection, username)
    assert user is not None, "it was just added"
    _write_grants(connection, user.id, standing.grants or {})
    if standing.disabled:
        set_disabled(connection, user.id, now, now)
    deed = Deed("user.create", "user", str(user.id), after={"username": username, **standing.told()})
    record(connection, actor, deed, now)
    return user.id


def change_person(connection: Connection, actor: Actor, user: User, after: Standing, now: int) -> list[str]:
    """Write what a held user may from now on; the sessions that ended with that."""
    before = Standing.of(user)
    if before == after:
        return []
    was, stays = (one.role is Role.ADMIN and not one.disabled for one in (before, after))
    if was and not stays:
        _keep_an_admin(connection, user)
    set_role(connection, user.id, after.role, now)
    if after.grants != before.grants:
        _write_grants(connection, user.id, after.grants or {})
    if after.disabled != before.disabled:
        set_disabled(connection, user.id, now if after.disabled else None, now)
    record(connection, actor, Deed("user.update", "user", str(user.id), None, before.told(), after.told()), now)
    return end_sessions(connection, user.id) if after.disabled else []


def remove_person(connection: Connection, actor: Actor, user: User, now: int) -> list[str]:
    """Remove a held user, and end their API tokens; the sessions that ended with that."""
    _keep_an_admin(connection, user)
    ended = end_sessions(connection, user.id)
    revoked = revoke_api_tokens_of(connection, user.username, now)
    remove_user(connection, user.id)
    before = {"username": user.username, **Standing.of(user).told()}
    for token in revoked:
        record(connection, actor, Deed("token.revoke", "token", str(token.id), before={"name": token.name}), now)
    record(connection, actor, Deed("user.remove", "user", str(user.id), before=before), now)
    return ended


def reset_password(connection: Connection, actor: Actor, user_id: int, password_hash: str, now: int) -> list[str]:
    """Give somebody another password; the sessions that ended with that."""
    user = get_user(connection, user_id)
    set_password(connection, user.username, password_hash, now)
    record(connection, actor, Deed("user.password", "user", str(user.id)), now)
    return end_sessions(connection, user.id)


def new_password() -> str:
    """One that nobody guesses, to be told once."""
    return secrets.token_urlsafe(_MADE_BYTES)


def check_password(given: str, username: str, *, field: str = "password") -> None:
    """Refuse one that somebody chose and others guess."""
    if len(given) < SHORTEST_PASSWORD:
        raise Invalid.of("password_too_short", limit=SHORTEST_PASSWORD, field=field)
    if is_guessable(given) or is_name(given, username):
        raise Invalid.of("password_guessable", field=field)


def reset_at(url: str, actor: Actor, username: str, given: str | None, now: int) -> str | None:
    """Give somebody another password in the store at ``url``, for whoever is at the machine; the one that was made, if
    none was given.
    """
    if given is not None:
        check_password(given, username)
    made = new_password() if given is None else None
    hashed = hash_password(given or made or "")
    with open_database(url, size=1) as db, db.engine.begin() as connection:
        user = find_user(connection, username)
        if user is None:
            raise NotFound("user", username)
        reset_password(connection, actor, user.id, hashed, now)
    return made


def _write_grants(connection: Connection, user_id: int, grants: Mapping[int, Role]) -> None:
    there = hold_groups(connection, grants)
    missing = [group for group in grants if group not in there]
    if missing:
        raise Invalid.of("grant_without_group", group=missing[0], field="grants")
    set_grants(connection, user_id, grants)


def _keep_an_admin(connection: Connection, user: User) -> None:
    if hold_admins(connection) == {user.id}:
        raise Conflict.of("last_administrator", name=user.username)
