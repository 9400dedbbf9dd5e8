"""What a coordinator makes for itself when nobody gave it: a token for executors, an administrator, a signing secret.

Nothing is shipped. What is generated is told once (the password) or written where only this user can read it (the
token).
"""

import os
import secrets
from pathlib import Path

from orth.coordinator.http.signing import hash_password, password_fits
from orth.errors import CannotStart
from orth.settings import Settings
from orth.store.database import Connection, Database
from orth.store.users import add_user, find_user, set_password, shared_secret

ADMIN = "admin"
TOKEN_FILE = "access-token"  # noqa: S105  # the name of the file


def prepare_folder(folder: Path) -> None:
    """Make the data folder, or say why not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
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
    file = folder / TOKEN_FILE
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        token = secrets.token_urlsafe(32)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(token + "\n")
        return token


async def ensure_admin(db: Database, settings: Settings, now: int) -> str | None:
    """Make sure there is an administrator; the password, if one was generated. A password that is set in the settings
    wins.
    """
    given = settings.security.admin_password
    password = given.get_secret_value() if given is not None else secrets.token_urlsafe(12)
    generated = await db.tx(_ensure_admin, password, given is not None, now)
    return password if generated else None


def _ensure_admin(connection: Connection, password: str, given: bool, now: int) -> bool:
    stored = find_user(connection, ADMIN)
    if stored is None:
        return add_user(connection, ADMIN, hash_password(password), "admin", now) and not given
    if given and not password_fits(password, stored.password):
        set_password(connection, ADMIN, hash_password(password), now)
    return False


async def signing_secret(db: Database, now: int) -> str:
    return await db.tx(shared_secret, "session-signing", secrets.token_hex(32), now)
