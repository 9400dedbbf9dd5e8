"""Passwords and session tokens.

A password is stored as its argon2id hash. A session token is a JWT of one fixed algorithm, signed with a secret all
nodes share through the database; it names the user, the version of the password it was begun with and its purpose. A
changed password ends every session.
"""

import base64
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import ARGON2_VERSION
from joserfc import jwt
from joserfc.jwk import OctKey

from orth.clock import Clock
from orth.errors import Unauthenticated

_ALGORITHM = "HS256"
_ISSUER = "orth"
Purpose = Literal["access", "refresh"]

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
    """What a valid token says."""

    username: str
    password_version: int


def hash_password(password: str) -> str:
    return _hasher.hash(password)


def password_fits(password: str, stored: str | None) -> bool:
    """Whether ``password`` belongs to the ``stored`` hash; takes as long when there is none."""
    try:
        return _hasher.verify(stored or _NOBODY, password) and stored is not None
    except (VerificationError, InvalidHashError):
        return False


class Signing:
    """Makes and reads session tokens."""

    def __init__(self, secret: str, clock: Clock, *, access: timedelta, refresh: timedelta) -> None:
        self._key = OctKey.import_key(secret)
        self._clock = clock
        self._lifetime: dict[Purpose, timedelta] = {"access": access, "refresh": refresh}

    def token(self, claim: Claim, purpose: Purpose) -> str:
        now = self._clock.now() // 1000
        claims = {
            "iss": _ISSUER,
            "sub": claim.username,
            "pwv": claim.password_version,
            "use": purpose,
            "iat": now,
            "exp": now + int(self._lifetime[purpose].total_seconds()),
            "jti": secrets.token_hex(8),
        }
        return jwt.encode({"alg": _ALGORITHM}, claims, self._key)

    def read(self, text: str, purpose: Purpose) -> Claim:
        """What ``text`` says, if it is ours, of this purpose and not expired."""
        try:
            claims = jwt.decode(text, self._key, algorithms=[_ALGORITHM]).claims
        except Exception:  # a stranger wrote it: whatever the library stumbles over, it is not one of ours
            raise _refused() from None
        expires, version, name = claims.get("exp"), claims.get("pwv"), claims.get("sub")
        if claims.get("iss") != _ISSUER or claims.get("use") != purpose:
            raise _refused()
        if not isinstance(expires, int) or not isinstance(version, int) or not isinstance(name, str):
            raise _refused()
        if expires <= self._clock.now() // 1000:
            raise Unauthenticated("The session has expired.", hint="Sign in again, or use the refresh token.")
        return Claim(name, version)

    def seconds(self, purpose: Purpose) -> int:
        return int(self._lifetime[purpose].total_seconds())


def _refused() -> Unauthenticated:
    return Unauthenticated("The token is not valid.", hint="Sign in with POST /api/v1/auth/login.")
