"""What is stored so that the database alone cannot tell it: passwords of others, tokens, secrets of jobs.

A value is sealed with AES-256-GCM by a master key that is never in the database. What it belongs to, its *context*, is
part of the seal: a value copied to another row does not open there. The text says which key it was sealed with, so that
keys can be changed while values of the old one are still about: the first key seals, every key opens.

All nodes of a cluster need the same keys. The database keeps the id of the key that seals, which tells nothing about
the key, and ``agree`` refuses a node that does not have it.
"""

import base64
import binascii
import os
import secrets
from contextlib import suppress
from hashlib import scrypt, sha256
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from orth.errors import CannotStart, Unreadable
from orth.settings import Settings
from orth.store.database import Database
from orth.store.users import shared_secret

KEY_FILE = "master-key"
KEY_NAME = "sealing-key"
"""Under which the store keeps the id of the key that seals."""
_KEY_BYTES = 32
_NONCE_BYTES = 12
_FORM = "orth1"


class Sealing:
    """Seals values for the database and opens them again. ``keys`` are of 32 bytes each; the first one seals."""

    def __init__(self, *keys: bytes) -> None:
        if not keys or any(len(key) != _KEY_BYTES for key in keys):
            raise ValueError(f"sealing needs keys of {_KEY_BYTES} bytes")
        self._ciphers = {key_id(key): AESGCM(key) for key in keys}
        self.newest = key_id(keys[0])

    @classmethod
    def fresh(cls) -> Self:
        """With a new key that nobody else has: what it seals is lost with it."""
        return cls(secrets.token_bytes(_KEY_BYTES))

    @property
    def key_ids(self) -> tuple[str, ...]:
        return tuple(self._ciphers)

    def seal(self, plain: bytes, context: str) -> str:
        """A text that says nothing about ``plain`` but how long it is; opens only for the same context."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = nonce + self._ciphers[self.newest].encrypt(nonce, plain, _bound(self.newest, context))
        return f"{_FORM}:{self.newest}:{base64.urlsafe_b64encode(sealed).decode().rstrip('=')}"

    def open(self, sealed: str, context: str) -> bytes:
        """What was sealed, or ``Unreadable``: another key, another context, or somebody changed it."""
        key, body = _parts(sealed)
        cipher = self._ciphers.get(key)
        if cipher is None:
            raise Unreadable.of("sealed_with_other_key", key=key)
        try:
            return cipher.decrypt(body[:_NONCE_BYTES], body[_NONCE_BYTES:], _bound(key, context))
        except InvalidTag:
            raise Unreadable.of("sealed_and_changed") from None

    def is_stale(self, sealed: str) -> bool:
        """Whether the value was sealed with another key than the newest."""
        return not sealed.startswith(f"{_FORM}:{self.newest}:")


def is_sealed(text: str) -> bool:
    return text.startswith(f"{_FORM}:")


def key_id(key: bytes) -> str:
    """A name for a key that tells nothing about it."""
    return sha256(b"orth master key" + key).hexdigest()[:12]


def sealing_of(settings: Settings, folder: Path) -> Sealing:
    """With the keys that are set, else with those made from the access token, which all nodes of a cluster have; where
    neither is set, with the one in the data folder, which is made if there is none. One that is there always opens.
    """
    given = settings.security.master_key
    if given is not None:
        return Sealing(*_read_keys(given.get_secret_value(), "security.master_key"))
    tokens = (settings.security.access_token, settings.security.access_token_previous)
    keys = [_key_from(token.get_secret_value()) for token in tokens if token is not None]
    file = folder / KEY_FILE
    if not keys and not file.exists():
        _make_key(file)
    if file.exists():
        keys += _read_keys(file.read_text(), str(file))
    return Sealing(*keys)


def _key_from(token: str) -> bytes:
    """A key that only those have who have the token; slow to make, so that a weak token is not found by trying."""
    return scrypt(token.encode(), salt=b"orth master key", n=2**14, r=8, p=1, dklen=_KEY_BYTES)


async def agree(db: Database, sealing: Sealing, now: int) -> None:
    """Refuse to start with other keys than the cluster's; the first node of all says which those are."""
    stored = await db.tx(shared_secret, KEY_NAME, sealing.newest, now)
    if stored not in sealing.key_ids:
        raise CannotStart(
            f"The secrets in this database are sealed with the master key {stored}; this node has "
            f"{', '.join(sealing.key_ids)}.",
            hint=f"Give all nodes the same: set security.master_key, or copy the file {KEY_FILE} of the first node.",
        )


def _parts(sealed: str) -> tuple[str, bytes]:
    form, _, rest = sealed.partition(":")
    key, _, body = rest.partition(":")
    with suppress(binascii.Error, ValueError):
        decoded = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
        if form == _FORM and len(decoded) >= _NONCE_BYTES:
            return key, decoded
    raise Unreadable.of("not_sealed")


def _bound(key: str, context: str) -> bytes:
    return f"{_FORM}:{key}:{context}".encode()


def _read_keys(text: str, place: str) -> list[bytes]:
    keys = [_read_key(part) for part in text.replace(",", " ").split()]
    good = [key for key in keys if key is not None]
    if not good or len(good) != len(keys):
        raise CannotStart(
            f"{place} is not a master key: each is {_KEY_BYTES} bytes in hex or base64, the newest first.",
            hint="Make one with: openssl rand -base64 32",
        )
    return good


def _read_key(text: str) -> bytes | None:
    with suppress(ValueError):
        if len(text) == 2 * _KEY_BYTES:
            return bytes.fromhex(text)
        plain = text.replace("-", "+").replace("_", "/").rstrip("=")
        key = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
        return key if len(key) == _KEY_BYTES else None
    return None


def _make_key(file: Path) -> None:
    """Write a new key. Two processes that do so at once end up with the same one."""
    own = file.with_name(f"{file.name}.{os.getpid()}")
    with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(secrets.token_hex(_KEY_BYTES) + "\n")
        out.flush()
        os.fsync(out.fileno())  # lost in a crash, it would take with it what it has sealed
    with suppress(FileExistsError):
        os.link(own, file)  # unlike a rename, this never replaces what somebody else has made
    own.unlink()
