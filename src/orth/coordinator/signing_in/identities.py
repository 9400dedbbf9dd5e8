"""Who somebody is, by the word of an issuer, and which of our users that makes them.

An ID token is believed only if one of the issuer's own keys has signed it, by an algorithm with two keys, for us, for
this very sign-in (the nonce), and lately. Its ``sub`` is who somebody is; names can change hands, so a user is bound to
the ``sub`` it came with first. A name alone makes nobody a user that has a password: else whoever may choose a name at
the issuer could choose ours.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from orth.coordinator.signing import digest_of
from orth.domain.access import Role
from orth.domain.audit import Actor, ActorKind, Deed
from orth.domain.sessions import Way
from orth.errors import Forbidden, Unauthenticated
from orth.settings import Settings
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.groups import find_group
from orth.store.identities import bind_identity, find_identity, is_bound
from orth.store.users import User, add_user, find_user, get_user, hold_admins, set_grants, set_role

ALGORITHMS = ("RS256", "PS256", "ES256")
NO_PASSWORD = "!"  # noqa: S105  # what no password fits
_LEEWAY = 60
_LONGEST_NAME = 50
_ORDER = tuple(Role)


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody, as the issuer knows them."""

    issuer: str
    subject: str
    username: str
    values: frozenset[str]
    """What roles follow from."""

    @property
    def digest(self) -> str:
        return digest_of(f"{self.issuer}\x00{self.subject}")


def key_id_of(token: str) -> str | None:
    """Which key a token says it was signed with. It may say anything."""
    head = token.partition(".")[0]
    try:
        said = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, RecursionError):
        return None
    kid = said.get("kid") if isinstance(said, dict) else None
    return kid if isinstance(kid, str) else None


def read_identity(
    token: str, keys: Iterable[Mapping[str, Any]], settings: Settings, *, nonce: str, now: int
) -> Identity:
    """What an ID token says, if it is to be believed; ``now`` in seconds."""
    own = settings.security
    claims = _verified(token, keys)
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    expires, issued = _number(claims.get("exp")), _number(claims.get("iat"))
    trusted = (
        str(claims.get("iss", "")).rstrip("/") == own.oidc_issuer
        and own.oidc_client_id in audiences
        and (len(audiences) == 1 or claims.get("azp") == own.oidc_client_id)
        and expires is not None
        and now < expires + _LEEWAY
        and issued is not None
        and issued < now + _LEEWAY
        and claims.get("nonce") == nonce
    )
    subject, name = claims.get("sub"), claims.get(own.oidc_username_claim or "sub")
    if not trusted or not isinstance(subject, str) or not subject.isprintable() or not 0 < len(subject) <= 255:
        raise _refused()
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name.strip()) <= _LONGEST_NAME:
        raise Forbidden.of("issuer_no_user_name")
    return Identity(own.oidc_issuer or "", subject, name.strip(), _values(claims.get(own.oidc_role_claim or "")))


def roles_of(identity: Identity, pairs: Iterable[str]) -> tuple[Role | None, dict[str, Role]]:
    """The role everywhere, and those in groups by app name, that follow from the settings; of several the highest."""
    everywhere: Role | None = None
    in_groups: dict[str, Role] = {}
    for pair in pairs:
        value, _, said = pair.rpartition("=")
        name, _, app_name = said.partition("@")
        if value not in identity.values:
            continue
        role = Role(name)
        if app_name:
            in_groups[app_name] = _higher(in_groups.get(app_name), role)
        else:
            everywhere = _higher(everywhere, role)
    return everywhere, in_groups


def user_of_identity(connection: Connection, identity: Identity, settings: Settings, address: str, now: int) -> User:
    """The user somebody is here, with the roles that follow from what the issuer says; ``Forbidden`` if nobody."""
    user = _bound_user(connection, identity, settings, address, now)
    if user.disabled_at is not None:
        raise _not_let_in()
    own = settings.security
    if own.oidc_role_claim is None:
        return user
    everywhere, by_app = roles_of(identity, own.oidc_roles)
    found = {app_name: find_group(connection, app_name) for app_name in by_app}
    grants = {group.id: by_app[app_name] for app_name, group in found.items() if group is not None}
    if everywhere is None and not grants:
        raise _not_let_in()
    before = (user.rights.everywhere, dict(user.grants))
    if before[0] is Role.ADMIN and everywhere is not Role.ADMIN and hold_admins(connection) <= {user.id}:
        # Nobody would be left who could make another: they stay, and the audit has what the issuer says.
        kept = Deed("user.kept", "user", user.username, before=_told(*before), after=_told(everywhere, grants))
        record(connection, Actor(ActorKind.USER, user.username, address), kept, now)
        everywhere = Role.ADMIN
    if before != (everywhere, grants):
        set_role(connection, user.id, everywhere, now)
        set_grants(connection, user.id, grants)
        deed = Deed("user.roles", "user", user.username, before=_told(*before), after=_told(everywhere, grants))
        record(connection, Actor(ActorKind.USER, user.username, address), deed, now)
    return get_user(connection, user.id)


def _bound_user(connection: Connection, identity: Identity, settings: Settings, address: str, now: int) -> User:
    user_id = find_identity(connection, identity.digest)
    if user_id is not None:
        return get_user(connection, user_id)
    if settings.security.oidc_create_users and add_user(connection, identity.username, NO_PASSWORD, "", now):
        deed = Deed("user.create", "user", identity.username, after={"way": Way.OIDC.value})
        record(connection, Actor(ActorKind.USER, identity.username, address), deed, now)
    user = find_user(connection, identity.username)
    free = user is not None and not user.password.startswith("$") and not is_bound(connection, user.id)
    if user is None or not free or not bind_identity(connection, identity.digest, user.id, now):
        raise _not_let_in()
    return user


def _verified(token: str, keys: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    wanted = key_id_of(token)
    usable = [key for key in keys if key.get("kty") in ("RSA", "EC") and key.get("use", "sig") == "sig"]
    fitting = [key for key in usable if key.get("kid") == wanted] if wanted is not None else usable
    if len(fitting) != 1:
        raise _refused()
    kind = RSAKey if fitting[0]["kty"] == "RSA" else ECKey
    try:
        return jwt.decode(token, kind.import_key(dict(fitting[0])), algorithms=list(ALGORITHMS)).claims
    except Exception:  # whatever the library stumbles over in what others have written
        raise _refused() from None


def _values(said: object) -> frozenset[str]:
    listed = said if isinstance(said, list) else [said]
    return frozenset(value for value in listed if isinstance(value, str))


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _higher(one: Role | None, other: Role) -> Role:
    return other if one is None else max(one, other, key=_ORDER.index)


def _told(everywhere: Role | None, grants: Mapping[int, Role]) -> dict[str, object]:
    return {"role": everywhere, "grants": {str(group): role for group, role in sorted(grants.items())}}


def _refused() -> Unauthenticated:
    return Unauthenticated.of("issuer_not_believed")


def _not_let_in() -> Forbidden:
    return Forbidden.of("nobody_here")
