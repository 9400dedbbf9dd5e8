"""Passwords, and what is signed.

A password is stored as its argon2id hash. What a caller brings back to us is a JWT of one fixed algorithm, signed with
a secret all nodes share through the database, with an issuer, a purpose and an end: one made for one purpose is nothing
for another. A token names its session; whether that is still good the database knows (``signing_in``).
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import ARGON2_VERSION
from joserfc import jwt
from joserfc.jwk import OctKey

from orth.clock import Clock
from orth.errors import Unauthenticated

_ALGORITHM = "HS256"
_MARK_DIGITS = 32
_CHANGE_DIGITS = 12
_ISSUER = "orth"
Purpose = Literal["access", "refresh", "oidc"]

_hasher = PasswordHasher()


def hash_of_nothing() -> str:
    """A hash no password is known for, written down without computing one: that takes a fifth of a second."""
    salt, made = (
        base64.b64encode(secrets.token_bytes(length)).decode().rstrip("=")
        for length in (_hasher.salt_len, _hasher.hash_len)
    )
    cost = f"m={_hasher.memory_cost},t={_hasher.time_cost},p={_hasher.parallelism}"
    return f"$argon2id$v={ARGON2_VERSION}${cost}${salt}${made}"


# Compared against when there is no such user, so that a wrong name costs what a wrong password costs.
_NOBODY = hash_of_nothing()


@dataclass(frozen=True, slots=True)
class Claim:
    """What a valid access token says."""

    username: str
    session_id: str


@dataclass(frozen=True, slots=True)
class Refresh:
    """What a valid refresh token says. ``secret`` is what the session keeps the digest of."""

    session_id: str
    generation: int
    secret: str


def hash_password(password: str) -> str:
    return _hasher.hash(password)


def password_fits(password: str, stored: str | None) -> bool:
    """Whether ``password`` belongs to the ``stored`` hash; takes as long when there is none, or none that can fit."""
    known = stored is not None and stored.startswith("$argon2")
    try:
        return _hasher.verify(stored if known and stored else _NOBODY, password) and known
    except (VerificationError, InvalidHashError):
        return False


def digest_of(secret: str) -> str:
    """What is stored of a secret that is random and long: guessing it from this is as hard as guessing it."""
    return hashlib.sha256(secret.encode()).hexdigest()


class Signing:
    """Makes and reads what is signed."""

    def __init__(self, secret: str, clock: Clock, *, access: timedelta) -> None:
        self._key = OctKey.import_key(secret)
        self._csrf_key = hmac.digest(secret.encode(), b"orth csrf", "sha256")
        self._cookie_key = hmac.digest(secret.encode(), b"orth cookies", "sha256")
        self._changes_key = hmac.digest(secret.encode(), b"orth changes", "sha256")
        self._clock = clock
        self.access_seconds = int(access.total_seconds())

    def access_token(self, claim: Claim) -> str:
        said = {"sub": claim.username, "sid": claim.session_id}
        return self.sign("access", said, self._clock.now() // 1000 + self.access_seconds)

    def read_access(self, text: str) -> Claim:
        said = self.read(text, "access")
        name, session_id = said.get("sub"), said.get("sid")
        if not isinstance(name, str) or not isinstance(session_id, str):
            raise _refused()
        return Claim(name, session_id)

    def refresh_token(self, refresh: Refresh, until: int) -> str:
        """Good until an instant."""
        said = {"sid": refresh.session_id, "gen": refresh.generation, "sec": refresh.secret}
        return self.sign("refresh", said, until // 1000)

    def read_refresh(self, text: str) -> Refresh:
        said = self.read(text, "refresh")
        session_id, generation, secret = said.get("sid"), said.get("gen"), said.get("sec")
        if not isinstance(session_id, str) or type(generation) is not int or not isinstance(secret, str):
            raise _refused()
        return Refresh(session_id, generation, secret)

    def csrf_token(self, session_id: str) -> str:
        """What a page of ours shows besides the cookie, which other pages make a browser send but cannot read."""
        return hmac.new(self._csrf_key, session_id.encode(), "sha256").hexdigest()

    def cookie_mark(self, session_id: str, secret: str) -> str:
        """What shows of a cookie that it is one we gave, also when its session is long forgotten."""
        return hmac.new(self._cookie_key, f"{session_id}.{secret}".encode(), "sha256").hexdigest()[:_MARK_DIGITS]

    def change_mark(self, subject: str, sign: str) -> str:
        """A sign of change as a page may carry it. It is the same on every node, and small numbers that were tried one
        after the other do not lead to it.
        """
        said = f"{subject} {sign}".encode()
        return hmac.new(self._changes_key, said, "sha256").hexdigest()[:_CHANGE_DIGITS]

    def sign(self, purpose: Purpose, said: Mapping[str, Any], until: int) -> str:
        """``said`` as a text that nobody else can make, good until a second of the epoch."""
        now = self._clock.now() // 1000
        claims = {**said, "iss": _ISSUER, "use": purpose, "iat": now, "exp": until, "jti": secrets.token_hex(8)}
        return jwt.encode({"alg": _ALGORITHM}, claims, self._key)

    def read(self, text: str, purpose: Purpose) -> Mapping[str, Any]:
        """What ``text`` says, if it is ours, of this purpose and not expired."""
        try:
            claims = jwt.decode(text, self._key, algorithms=[_ALGORITHM]).claims
        except Exception:  # a stranger wrote it: whatever the library stumbles over, it is not one of ours
            raise _refused() from None
        expires = claims.get("exp")
        if claims.get("iss") != _ISSUER or claims.get("use") != purpose or type(expires) is not int:
            raise _refused()
        if expires <= self._clock.now() // 1000:
            raise Unauthenticated.of("session_expired")
        return claims


def _refused() -> Unauthenticated:
    return Unauthenticated.of("token_not_valid")
