"""What a coordinator makes for itself when nobody gave it: a token for executors, an administrator, a signing secret.

Nothing is shipped. What is generated is told once (the password, and a link that signs in without it), written where
only this user can read it (the token), or sealed (the secret).
"""

import asyncio
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from orth.coordinator.sealing import Sealing
from orth.coordinator.signing import hash_password, password_fits
from orth.coordinator.signing_in.links import make_link
from orth.domain.access import Role
from orth.domain.audit import Actor, ActorKind, Deed
from orth.errors import CannotStart, Unreadable
from orth.settings import Settings
from orth.store.audit import record
from orth.store.database import Connection, Database
from orth.store.users import add_user, find_secret, find_user, hold_admins, replace_secret, set_password, shared_secret

ADMIN = "admin"
_BY_START = Actor(ActorKind.NODE, "first start")
_SIGNING = "session-signing-sealed"
_GIVEN = "admin-password-given"
"""Under which the store keeps the secret, and the hash of the password that the administrator last got by a start."""
TOKEN_FILE = "access-token"  # noqa: S105  # the name of the file
FIRST_SIGN_IN_FILE = "first-sign-in"


def prepare_folder(folder: Path) -> None:
    """Make the data folder, or say why not."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise CannotStart(
            f"The data folder {folder} cannot be written: {error.strerror}.", hint="Choose another with --data-dir."
        ) from None


def access_token(settings: Settings, folder: Path) -> str:
    """The token executors must show: as set, else the one in the data folder, else a new one written there."""
    if settings.security.access_token is not None:
        return settings.security.access_token.get_secret_value()
    if not settings.coordinator.listen.is_loopback:
        raise CannotStart(
            f"No access token is set, and {settings.coordinator.listen} can be reached from other machines.",
            hint="Set ORTH_SECURITY__ACCESS_TOKEN (or security.access_token), or listen on 127.0.0.1.",
        )
    return _kept_token(folder / TOKEN_FILE)


def _kept_token(file: Path) -> str:
    """The token in ``file``, made if there is none. Two processes that make it at once end up with the same one."""
    if not file.exists():
        own = file.with_name(f"{file.name}.{os.getpid()}")
        with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(secrets.token_urlsafe(32) + "\n")
        with suppress(FileExistsError):
            os.link(own, file)  # unlike a rename, this never replaces what somebody else has made
        own.unlink()
    token = file.read_text().strip()
    if not token:
        raise CannotStart(f"The access token file {file} is empty.", hint="Delete it, and a new one is made.")
    return token


async def ensure_admin(db: Database, settings: Settings, now: int) -> str | None:
    """Make sure there is an administrator; the password, if one was generated.

    One that is set in the settings is taken at the first start, and whenever the settings say another than before: what
    a person has chosen since stays. Where others administer, somebody has removed the first user on purpose, and it
    stays removed. Hashing takes a good part of a second, on purpose, so it happens outside any transaction.
    """
    given = settings.security.admin_password
    text = None if given is None else given.get_secret_value()
    stored = await db.read(find_user, ADMIN)
    if stored is not None:
        if text is not None:
            await _follow_settings(db, text, now)
        return None
    admins = await db.read(hold_admins)
    if text is None and admins:
        return None
    password = text or secrets.token_urlsafe(12)
    hashed = await asyncio.to_thread(hash_password, password)
    added = await db.tx(_add_admin, hashed, now)
    return password if added and text is None else None


async def _follow_settings(db: Database, given: str, now: int) -> None:
    """Give the administrator the password of the settings, if they said another one before."""
    before = await db.read(find_secret, _GIVEN)
    if before is not None and await asyncio.to_thread(password_fits, given, before):
        return
    hashed = await asyncio.to_thread(hash_password, given)
    await db.tx(_set_admin_password, hashed, before, now)


def _add_admin(connection: Connection, hashed: str, now: int) -> bool:
    added = add_user(connection, ADMIN, hashed, Role.ADMIN.value, now)
    if added:
        record(connection, _BY_START, Deed("user.create", "user", ADMIN, after={"role": Role.ADMIN.value}), now)
        shared_secret(connection, _GIVEN, hashed, now)
    return added


def _set_admin_password(connection: Connection, hashed: str, before: str | None, now: int) -> None:
    """What the settings said ``before`` is not known of a store that an earlier version made: then they may have said
    the same for long, and a person another thing since.
    """
    if before is None:
        shared_secret(connection, _GIVEN, hashed, now)
    elif replace_secret(connection, _GIVEN, before, hashed) and set_password(connection, ADMIN, hashed, now):
        record(connection, _BY_START, Deed("user.password", "user", ADMIN, after={"by": "settings"}), now)


def tell_first_sign_in(password: str, link: str, folder: Path, screen: TextIO) -> None:
    """Show the password that was made and the link to a person at a terminal, and nowhere else.

    What is written to anything but a terminal is kept, in a journal or the log of a container, and read by others. Then
    both go to a file that only this user can read, and its name is told.
    """
    text = f"sign in as {ADMIN} with the password {password}"
    also = f"or open this within 15 minutes, once: {link}"
    if screen.isatty():
        screen.write(f"\n  First start: {text}  (shown only now)\n  {also}\n\n")
    else:
        file = folder / FIRST_SIGN_IN_FILE
        file.unlink(missing_ok=True)  # of a start with another database
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(f"{text}\n{also}\n")
        screen.write(f"First start: how to sign in as {ADMIN} is in {file.absolute()}. Delete the file afterwards.\n")
    screen.flush()


async def first_link(db: Database, now: int) -> str:
    """A link for the administrator, to be told together with the password."""
    return await db.tx(make_link, ADMIN, _BY_START, now)


async def signing_secret(db: Database, sealing: Sealing, now: int) -> str:
    """What sessions are signed with, the same on all nodes; the database has it sealed.

    When no key of ours opens it any more, a new one takes its place, and everybody signs in again.
    """
    fresh = secrets.token_hex(32)
    proposal = sealing.seal(fresh.encode(), _SIGNING)
    stored = await db.tx(shared_secret, _SIGNING, proposal, now)
    try:
        secret = sealing.open(stored, _SIGNING).decode()
    except Unreadable:
        secret = fresh
    else:
        if not sealing.is_stale(stored):
            return secret
        proposal = sealing.seal(secret.encode(), _SIGNING)
    if await db.tx(replace_secret, _SIGNING, stored, proposal):
        return secret
    return await signing_secret(db, sealing, now)  # another node was quicker
