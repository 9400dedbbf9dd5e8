"""What a coordinator makes for itself at its first start, and leaves alone at the next."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from orth.coordinator.first_start import (
    FIRST_SIGN_IN_FILE,
    ensure_admin,
    first_link,
    signing_secret,
    tell_first_sign_in,
)
from orth.coordinator.sealing import Sealing
from orth.coordinator.signing import hash_password, password_fits
from orth.coordinator.signing_in.links import link_url, use_link
from orth.settings import Settings
from orth.settings.sections import SecuritySection
from orth.store.audit_tables import audit
from orth.store.database import Database, open_database
from orth.store.tables import secrets
from orth.store.users import add_user, find_user, remove_user, set_password
from orth.testing.stores import prepare_store

NOW = 1_700_000_000_000


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path / 'orth.db'}"
    prepare_store(url)
    with open_database(url) as opened:
        yield opened


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_password_is_shown_to_a_terminal_and_else_kept_in_a_file(tmp_path: Path, is_terminal: bool) -> None:
    ours, theirs = os.openpty() if is_terminal else os.pipe()
    kept = tmp_path / FIRST_SIGN_IN_FILE
    if not is_terminal:
        kept.write_text("of another start")
    with os.fdopen(theirs, "w") as screen:
        tell_first_sign_in("the-password", "http://here/?t=secret", tmp_path, screen)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    if is_terminal:
        assert "the-password" in shown
        assert "?t=secret" in shown
        assert not kept.exists()
    else:
        assert str(kept) in shown
        assert "the-password" not in shown
        assert "?t=" not in shown
        assert kept.stat().st_mode & 0o777 == 0o600
        assert {"the-password", "http://here/?t=secret"} < set(kept.read_text().split())


async def test_the_first_start_makes_an_administrator_with_a_password_of_its_own(db: Database) -> None:
    password = await ensure_admin(db, Settings(), NOW)
    assert password is not None
    admin = await db.read(find_user, "admin")
    assert admin is not None
    assert password_fits(password, admin.password)
    assert admin.role == "admin"
    assert await ensure_admin(db, Settings(), NOW) is None
    assert await db.read(actions) == ["user.create"]


async def test_a_password_that_is_set_is_taken_and_changed_when_it_changes(db: Database) -> None:
    for text in ("the first password", "the second password", "the second password"):
        settings = Settings(security=SecuritySection(admin_password=text))
        assert await ensure_admin(db, settings, NOW) is None
        admin = await db.read(find_user, "admin")
        assert admin is not None
        assert password_fits(text, admin.password)
    assert admin.password_version == 2
    assert await db.read(actions) == ["user.create", "user.password"]


async def test_what_a_person_has_chosen_outlives_a_start_whose_settings_are_as_before(db: Database) -> None:
    given = Settings(security=SecuritySection(admin_password="as the settings say"))
    await ensure_admin(db, given, NOW)
    await db.tx(set_password, "admin", hash_password("as a person likes it"), NOW)
    await ensure_admin(db, given, NOW)
    assert await fits(db, "as a person likes it")
    await ensure_admin(db, Settings(security=SecuritySection(admin_password="another of the settings")), NOW)
    assert await fits(db, "another of the settings")


async def test_settings_that_name_a_password_later_are_followed(db: Database) -> None:
    await ensure_admin(db, Settings(), NOW)
    await ensure_admin(db, Settings(security=SecuritySection(admin_password="lost the first one")), NOW)
    assert await fits(db, "lost the first one")


async def test_in_a_store_of_before_the_password_stays(db: Database) -> None:
    await db.tx(add_user, "admin", hash_password("as a person likes it"), "admin", NOW)
    given = Settings(security=SecuritySection(admin_password="as the settings say"))
    await ensure_admin(db, given, NOW)
    await ensure_admin(db, given, NOW)
    assert await fits(db, "as a person likes it")


async def fits(db: Database, password: str) -> bool:
    admin = await db.read(find_user, "admin")
    assert admin is not None
    return password_fits(password, admin.password)


async def test_where_others_administer_a_removed_admin_stays_removed(db: Database) -> None:
    await ensure_admin(db, Settings(), NOW)
    await db.tx(add_user, "ada", "!", "admin", NOW)
    admin = await db.read(find_user, "admin")
    assert admin is not None
    await db.tx(remove_user, admin.id)
    assert await ensure_admin(db, Settings(), NOW) is None
    assert await db.read(find_user, "admin") is None


async def test_the_first_link_is_the_administrators(db: Database) -> None:
    await ensure_admin(db, Settings(), NOW)
    token = await first_link(db, NOW)
    assert link_url("https://orth.example/", token) == f"https://orth.example/?t={token}"
    user = await db.tx(use_link, token, NOW)
    assert user is not None
    assert user.username == "admin"
    assert await db.tx(use_link, token, NOW) is None


async def test_nodes_share_a_secret_that_the_database_alone_does_not_tell(db: Database) -> None:
    sealing = Sealing.fresh()
    first = await signing_secret(db, sealing, NOW)
    assert await signing_secret(db, sealing, NOW) == first
    assert first not in str(await db.read(stored))


async def test_a_new_key_seals_the_secret_again_and_a_lost_one_makes_another(db: Database) -> None:
    old, new = bytes(range(32)), bytes(range(1, 33))
    first = await signing_secret(db, Sealing(old), NOW)
    assert await signing_secret(db, Sealing(new, old), NOW) == first
    assert await signing_secret(db, Sealing(new), NOW) == first  # the old key is not needed any more
    another = await signing_secret(db, Sealing(old), NOW)
    assert another != first
    assert await signing_secret(db, Sealing(old), NOW) == another


def actions(connection: Connection) -> list[str]:
    return list(connection.execute(select(audit.c.action).order_by(audit.c.seq)).scalars())


def stored(connection: Connection) -> list[str]:
    return list(connection.execute(select(secrets.c.value)).scalars())
