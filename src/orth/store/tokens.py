"""Tokens of programs and of executors, and the secrets that prove them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, or_, select, update

from orth.domain.access import Rights, Role
from orth.domain.tokens import Token, TokenKind
from orth.errors import Conflict, NotFound
from orth.store.engines import among, chunks, insert_returning_id, locked
from orth.store.tables import executions, groups, jobs
from orth.store.token_tables import token_secrets, tokens

TOKENS_LIMIT = 2_000
"""Tokens kept, also those that are over."""
KEPT_FOR = 90 * 86_400_000
"""Milliseconds for which a token that is over is still listed."""


@dataclass(frozen=True, slots=True)
class TokenSecret:
    """What proves a token, as it is stored: never the text itself, but for one that has to be shown, sealed."""

    digest: str
    key_id: str
    shown: str
    sealed: str | None = None
    valid_until: int | None = None


@dataclass(frozen=True, slots=True)
class Proven:
    """A token, and which of its secrets proved it."""

    token: Token
    secret: TokenSecret

    def is_good(self, now: int) -> bool:
        until = self.secret.valid_until
        return self.token.is_good(now) and (until is None or now < until)


def create_token(connection: Connection, token: Token, secret: TokenSecret, now: int) -> int:
    """Store a token and give its id. Those that have been over for long are forgotten on the way."""
    forget_old_tokens(connection, now - KEPT_FOR)
    if connection.execute(select(func.count()).select_from(tokens)).scalar_one() >= TOKENS_LIMIT:
        raise Conflict.of("tokens_full", limit=TOKENS_LIMIT)
    rights = token.rights
    token_id = insert_returning_id(
        connection,
        tokens,
        {
            "kind": token.kind.value,
            "name": token.name,
            "role": None if rights.everywhere is None else rights.everywhere.value,
            "group_roles": json.dumps({str(group): role.value for group, role in sorted(rights.in_groups.items())}),
            "app_names": json.dumps(token.app_names),
            "networks": json.dumps(token.networks) if token.networks else None,
            "once": int(token.once),
            "created_by": token.created_by,
            "created_at": now,
            "expires_at": token.expires_at,
        },
    )
    _add_secret(connection, token_id, secret, now)
    return token_id


def rotate_token(connection: Connection, token_id: int, secret: TokenSecret, until: int, now: int) -> Token:
    """Give a token another secret; the one it had is good ``until`` then, and none before that one."""
    token = _hold(connection, token_id)
    if not token.is_good(now):
        raise Conflict.of("token_over", token=token_id)
    of_token = token_secrets.c.token_id == token_id
    connection.execute(delete(token_secrets).where(of_token, token_secrets.c.valid_until.is_not(None)))
    connection.execute(update(token_secrets).where(of_token).values(valid_until=until))
    _add_secret(connection, token_id, secret, now)
    return token


def revoke_token(connection: Connection, token_id: int, now: int) -> Token:
    """End a token at once; how it was. Nothing is left of what proved it."""
    token = _hold(connection, token_id)
    if token.revoked_at is None:
        connection.execute(update(tokens).where(tokens.c.id == token_id).values(revoked_at=now))
        connection.execute(delete(token_secrets).where(token_secrets.c.token_id == token_id))
    return token


def revoke_api_tokens_of(connection: Connection, owner: str, now: int) -> list[Token]:
    """End the API tokens of somebody; how those were that were not over yet."""
    theirs = select(tokens.c.id).where(tokens.c.kind == TokenKind.API.value, tokens.c.created_by == owner)
    ids = list(connection.scalars(theirs.where(tokens.c.revoked_at.is_(None)).order_by(tokens.c.id)))
    return [revoke_token(connection, token_id, now) for token_id in ids]


def forget_old_tokens(connection: Connection, before: int) -> None:
    """Remove those that have been over since ``before``."""
    over = or_(tokens.c.revoked_at < before, tokens.c.expires_at < before)
    ids = [row.id for row in connection.execute(select(tokens.c.id).where(over))]
    if ids:
        connection.execute(delete(token_secrets).where(among(connection, token_secrets.c.token_id, ids)))
        connection.execute(delete(tokens).where(among(connection, tokens.c.id, ids)))


def get_token(connection: Connection, token_id: int) -> Token:
    row = connection.execute(select(tokens).where(tokens.c.id == token_id)).one_or_none()
    if row is None:
        raise NotFound("token", token_id)
    return _token(row)


def list_tokens(connection: Connection, after: int, limit: int) -> list[Token]:
    """Tokens in order of id, those after ``after``."""
    rows = connection.execute(select(tokens).where(tokens.c.id > after).order_by(tokens.c.id).limit(limit))
    return [_token(row) for row in rows]


def secrets_of(connection: Connection, token_ids: Iterable[int]) -> dict[int, list[TokenSecret]]:
    """What proves each of these tokens, the newest first: the one that was not replaced."""
    wanted = among(connection, token_secrets.c.token_id, list(token_ids))
    found: dict[int, list[TokenSecret]] = {}
    for row in connection.execute(select(token_secrets).where(wanted)):
        found.setdefault(row.token_id, []).append(_secret(row))
    return {token: sorted(some, key=lambda one: one.valid_until is not None) for token, some in found.items()}


def find_by_digest(connection: Connection, digest: str) -> Proven | None:
    return _proven(connection, token_secrets.c.digest == digest)


def find_by_key(connection: Connection, key_id: str) -> Proven | None:
    return _proven(connection, token_secrets.c.key_id == key_id)


def good_for_app(connection: Connection, app_name: str, now: int) -> list[Proven]:
    """The good executor tokens of an app, the newest first, for executors that do not say which one they have. One that
    is being rotated is there with both its secrets.
    """
    rows = connection.execute(
        select(tokens).where(tokens.c.kind == TokenKind.EXECUTOR.value).order_by(tokens.c.id.desc())
    )
    good = [
        token for token in map(_token, rows) if app_name in token.app_names and token.is_good(now) and not token.once
    ]
    secrets = secrets_of(connection, [token.id for token in good])
    proven = [Proven(token, secret) for token in good for secret in secrets.get(token.id, ())]
    return [one for one in proven if one.is_good(now)]


def note_use(connection: Connection, token_id: int, now: int) -> None:
    connection.execute(update(tokens).where(tokens.c.id == token_id).values(last_used_at=now))


def apps_of_executions(connection: Connection, execution_ids: Iterable[int]) -> dict[int, str]:
    """The app name of the group of each execution that exists."""
    joined = select(executions.c.id, groups.c.app_name).join(groups, groups.c.id == executions.c.job_group)
    found: dict[int, str] = {}
    for chunk in chunks(execution_ids):
        rows = connection.execute(joined.where(among(connection, executions.c.id, chunk)))
        found |= {row.id: row.app_name for row in rows}
    return found


@dataclass(frozen=True, slots=True)
class Home:
    """Where an execution belongs, and since when it is over, if it is."""

    job_id: int
    app_name: str
    ended_at: int | None
    trigger_time: int


def homes_of_executions(connection: Connection, execution_ids: Iterable[int]) -> dict[int, Home]:
    """The home of each execution that exists."""
    columns = executions.c
    shown = (columns.id, columns.job_id, columns.outcome, columns.phase_time, columns.trigger_time, groups.c.app_name)
    joined = select(*shown).join(groups, groups.c.id == executions.c.job_group)
    found: dict[int, Home] = {}
    for chunk in chunks(execution_ids):
        for row in connection.execute(joined.where(among(connection, columns.id, chunk))):
            ended_at = row.phase_time if row.outcome else None
            found[row.id] = Home(row.job_id, row.app_name, ended_at, row.trigger_time)
    return found


def apps_of_jobs(connection: Connection, job_ids: Iterable[int]) -> dict[int, str]:
    """The app name of the group of each job that exists."""
    joined = select(jobs.c.id, groups.c.app_name).join(groups, groups.c.id == jobs.c.job_group)
    found: dict[int, str] = {}
    for chunk in chunks(job_ids):
        rows = connection.execute(joined.where(among(connection, jobs.c.id, chunk)))
        found |= {row.id: row.app_name for row in rows}
    return found


def _proven(connection: Connection, condition: Any) -> Proven | None:  # Any: a comparison, which SQLAlchemy types wider
    row = connection.execute(select(token_secrets).where(condition)).first()
    if row is None:
        return None
    return Proven(get_token(connection, row.token_id), _secret(row))


def _hold(connection: Connection, token_id: int) -> Token:
    row = connection.execute(locked(select(tokens).where(tokens.c.id == token_id), connection)).one_or_none()
    if row is None:
        raise NotFound("token", token_id)
    return _token(row)


def _add_secret(connection: Connection, token_id: int, secret: TokenSecret, now: int) -> None:
    connection.execute(
        insert(token_secrets).values(
            digest=secret.digest,
            token_id=token_id,
            key_id=secret.key_id,
            shown=secret.shown,
            sealed=secret.sealed,
            created_at=now,
            valid_until=secret.valid_until,
        )
    )


def _secret(row: Row[Any]) -> TokenSecret:
    return TokenSecret(row.digest, row.key_id, row.shown, row.sealed, row.valid_until)


_ROLES = {role.value: role for role in Role}


def _token(row: Row[Any]) -> Token:
    """A role this version does not know grants nothing."""
    in_groups = {int(group): _ROLES[role] for group, role in json.loads(row.group_roles).items() if role in _ROLES}
    return Token(
        kind=TokenKind(row.kind),
        name=row.name,
        rights=Rights(_ROLES.get(row.role), in_groups),
        app_names=tuple(json.loads(row.app_names)),
        networks=tuple(json.loads(row.networks)) if row.networks else (),
        created_by=row.created_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
        once=row.once == 1,
        id=row.id,
    )
