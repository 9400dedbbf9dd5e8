"""What an OpenID Connect issuer tells: where its doors are, its keys, and, for a code, who somebody is.

Each answer is bounded in size and time, no redirect is followed, and the doors must lie behind TLS like the issuer
itself. Doors and keys are remembered; a key that is not known is asked for again, but not at every request of a
stranger.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp

from orth.clock import Clock
from orth.errors import Unauthenticated, Unavailable
from orth.settings import Address, Settings
from orth.wire.guarded import guarded_connector
from orth.wire.network_reasons import network_reason
from orth.wire.outbound import Outbound

_LARGEST = 256 * 1024
_REFUSED = (400, 401)
"""What an issuer answers to a code that is not good, or not for this client (RFC 6749, 5.2)."""
_PATIENCE = aiohttp.ClientTimeout(total=10.0)
_DOORS_GOOD_FOR = 3600.0
_KEYS_GOOD_FOR = 3600.0
_KEYS_ASKED_EVERY = 30.0
_MOST_KEYS = 100


class IssuerTrouble(Unavailable):
    """The issuer does not answer, or not as it should."""

    kind = "issuer-unavailable"


@dataclass(frozen=True, slots=True)
class Doors:
    """Where the issuer is asked for what."""

    authorization: str
    token: str
    keys: str


class Issuer:
    """The issuer of the settings, as it was found."""

    def __init__(self) -> None:
        self._doors: tuple[Doors, float] | None = None
        self._keys: tuple[list[dict[str, Any]], float] | None = None

    async def doors(self, settings: Settings, clock: Clock) -> Doors:
        if self._doors is not None and clock.monotonic() - self._doors[1] < _DOORS_GOOD_FOR:
            return self._doors[0]
        issuer = settings.security.oidc_issuer or ""
        said = await _asked(settings, "GET", f"{issuer}/.well-known/openid-configuration")
        if str(said.get("issuer", "")).rstrip("/") != issuer:
            raise IssuerTrouble.of("issuer_other_name")
        names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        doors = Doors(*(_checked_door(said.get(name), name, issuer) for name in names))
        self._doors = (doors, clock.monotonic())
        return doors

    async def keys(self, settings: Settings, clock: Clock, *, wanted: str | None) -> list[dict[str, Any]]:
        """The issuer's keys; asked for again when the ``wanted`` one is not among them."""
        if self._keys is not None:
            keys, asked_at = self._keys
            age = clock.monotonic() - asked_at
            has_it = wanted is None or any(key.get("kid") == wanted for key in keys)
            if age < (_KEYS_GOOD_FOR if has_it else _KEYS_ASKED_EVERY):
                return keys
        said = await _asked(settings, "GET", (await self.doors(settings, clock)).keys)
        listed = said.get("keys")
        found = [key for key in listed if isinstance(key, dict)][:_MOST_KEYS] if isinstance(listed, list) else []
        self._keys = (found, clock.monotonic())
        return found

    async def redeem(self, settings: Settings, clock: Clock, code: str, verifier: str, redirect_uri: str) -> str:
        """The ID token that the issuer gives for a code."""
        own = settings.security
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        form |= {"code_verifier": verifier, "client_id": own.oidc_client_id or ""}
        headers: dict[str, str] = {}
        if own.oidc_client_secret is not None:
            named = (own.oidc_client_id or "", own.oidc_client_secret.get_secret_value())
            pair = ":".join(quote(part, safe="") for part in named)
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        doors = await self.doors(settings, clock)
        said = await _asked(settings, "POST", doors.token, form=form, headers=headers)
        token = said.get("id_token")
        if not isinstance(token, str):
            raise IssuerTrouble.of("issuer_gave_no_token")
        return token


async def _asked(
    settings: Settings,
    method: str,
    url: str,
    *,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The JSON object the issuer answers with."""
    connector = guarded_connector(Outbound(deny=settings.security.outbound_deny))
    try:
        async with (
            aiohttp.ClientSession(
                connector=connector,
                timeout=_PATIENCE,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept-Encoding": "identity"},
                auto_decompress=False,  # a small answer must not become a large one
            ) as http,
            http.request(method, url, data=form, headers=headers, allow_redirects=False) as answer,
        ):
            body = await answer.content.read(_LARGEST + 1)
            while len(body) <= _LARGEST and (more := await answer.content.read(_LARGEST + 1)):
                body += more
            status = answer.status
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise IssuerTrouble.of("issuer_silent", said=f"it {network_reason(error)}") from None
    if form is not None and status in _REFUSED:
        raise Unauthenticated.of("issuer_refused")
    if status != 200 or len(body) > _LARGEST:
        raise IssuerTrouble.of("issuer_status", status=status)
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise IssuerTrouble.of("issuer_not_json")
    return said


def _checked_door(url: object, name: str, issuer: str) -> str:
    """A door of the issuer; without TLS only on this machine, and only if the issuer is there as well."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        hosts = [one.hostname or "" for one in (parts, urlsplit(issuer)) if one is not None]
    except ValueError:
        parts, hosts = None, []
    local = bool(hosts) and all(Address(host, 0).is_loopback for host in hosts)
    if parts is None or not (parts.scheme == "https" or (parts.scheme == "http" and local)):
        raise IssuerTrouble.of("issuer_without_door", name=name)
    return parts.geturl()
