"""Tokens on every database: made, proved, rotated with two good at a time, revoked, forgotten."""

from dataclasses import replace

import pytest
from sqlalchemy import Connection

from orth.domain.access import Rights, Role
from orth.domain.tokens import Token, TokenKind
from orth.errors import Conflict, NotFound
from orth.store import tokens as store
from orth.store.database import Database
from orth.store.groups import create_group
from orth.store.jobs import create_job
from orth.store.tokens import (
    KEPT_FOR,
    TokenSecret,
    apps_of_executions,
    create_token,
    find_by_digest,
    find_by_key,
    get_token,
    good_for_app,
    list_tokens,
    note_use,
    revoke_token,
    rotate_token,
    secrets_of,
)
from tests.store.builders import NOW, a_group, a_job, open_some

API = Token(TokenKind.API, "ci", Rights(Role.VIEWER, {3: Role.OPERATOR, 7: Role.ADMIN}), created_by="admin")
OURS = Token(TokenKind.EXECUTOR, "reports", app_names=("reports", "reports-night"))


def secret(name: str, sealed: str | None = None) -> TokenSecret:
    return TokenSecret(digest=name * 8, key_id=name, shown=f"orth_pat_{name}", sealed=sealed)


async def test_a_token_comes_back_as_it_was_made(db: Database) -> None:
    token = replace(API, expires_at=NOW + 5)
    made = await db.tx(create_token, token, secret("a"), NOW)
    assert await db.read(get_token, made) == replace(token, id=made, created_at=NOW)
    assert [one.id for one in await db.read(list_tokens, 0, 10)] == [made]
    assert (await db.read(secrets_of, [made]))[made] == [secret("a")]
    with pytest.raises(NotFound):
        await db.read(get_token, made + 1)


async def test_it_is_found_by_what_proves_it_and_by_nothing_else(db: Database) -> None:
    made = await db.tx(create_token, OURS, secret("k", "sealed"), NOW)
    for found in (await db.read(find_by_digest, "k" * 8), await db.read(find_by_key, "k")):
        assert found is not None
        assert (found.token.id, found.secret.sealed, found.is_good(NOW)) == (made, "sealed", True)
    assert await db.read(find_by_digest, "k") is None
    assert await db.read(find_by_key, "K") is None


async def test_while_it_is_rotated_two_secrets_are_good(db: Database) -> None:
    made = await db.tx(create_token, API, secret("a"), NOW)
    await db.tx(rotate_token, made, secret("b"), NOW + 100, NOW)
    old, new = await db.read(find_by_digest, "a" * 8), await db.read(find_by_digest, "b" * 8)
    assert old is not None
    assert new is not None
    assert (old.is_good(NOW + 99), old.is_good(NOW + 100), new.is_good(NOW + 100)) == (True, False, True)
    await db.tx(rotate_token, made, secret("c"), NOW + 200, NOW + 50)
    assert await db.read(find_by_digest, "a" * 8) is None
    assert [one.shown for one in (await db.read(secrets_of, [made]))[made]] == ["orth_pat_c", "orth_pat_b"]


async def test_a_revoked_or_expired_token_proves_nothing(db: Database) -> None:
    expiring = await db.tx(create_token, replace(API, expires_at=NOW + 10), secret("a"), NOW)
    found = await db.read(find_by_digest, "a" * 8)
    assert found is not None
    assert (found.is_good(NOW + 9), found.is_good(NOW + 10)) == (True, False)
    assert (await db.tx(revoke_token, expiring, NOW + 1)).revoked_at is None
    assert await db.read(find_by_digest, "a" * 8) is None
    assert (await db.tx(revoke_token, expiring, NOW + 2)).revoked_at == NOW + 1
    with pytest.raises(Conflict):
        await db.tx(rotate_token, expiring, secret("b"), NOW, NOW + 3)


async def test_the_good_tokens_of_an_app_the_newest_first(db: Database) -> None:
    first = await db.tx(create_token, OURS, secret("a"), NOW)
    second = await db.tx(create_token, replace(OURS, expires_at=NOW + 10), secret("b"), NOW)
    await db.tx(create_token, replace(OURS, app_names=("other",)), secret("c"), NOW)
    for at, wanted in ((NOW, [second, first]), (NOW + 10, [first])):
        found = await db.read(good_for_app, "reports-night", at)
        assert [one.token.id for one in found] == wanted
    assert await db.read(good_for_app, "report", NOW) == []
    await db.tx(rotate_token, first, secret("d"), NOW + 20, NOW + 10)
    for at, digests in ((NOW + 19, ["d" * 8, "a" * 8]), (NOW + 20, ["d" * 8])):
        assert [one.secret.digest for one in await db.read(good_for_app, "reports-night", at)] == digests


async def test_tokens_are_bounded_and_old_ones_forgotten(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "TOKENS_LIMIT", 2)
    over = await db.tx(create_token, API, secret("a"), NOW)
    await db.tx(create_token, replace(API, expires_at=NOW + 1), secret("b"), NOW)
    with pytest.raises(Conflict):
        await db.tx(create_token, API, secret("c"), NOW)
    await db.tx(revoke_token, over, NOW)
    later = NOW + KEPT_FOR + 1
    made = await db.tx(create_token, API, secret("c"), later)
    kept = [one.id for one in await db.read(list_tokens, 0, 10)]
    assert made in kept
    assert over not in kept


async def test_use_is_noted(db: Database) -> None:
    made = await db.tx(create_token, API, secret("a"), NOW)
    await db.tx(note_use, made, NOW + 3)
    assert (await db.read(get_token, made)).last_used_at == NOW + 3


async def test_whose_an_execution_is(db: Database) -> None:
    group = await db.tx(store_group)
    (one,) = await db.tx(lambda connection: open_some(connection, 1, job_id=group[1], job_group=group[0]))
    assert await db.read(apps_of_executions, [one, one + 1]) == {one: "reports"}


def store_group(connection: Connection) -> tuple[int, int]:
    made = create_group(connection, a_group("reports"), NOW)
    return made, create_job(connection, a_job(made), NOW)
