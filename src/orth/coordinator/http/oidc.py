"""Signing in through an OpenID Connect issuer: the code flow, with PKCE.

What belongs to one sign-in (state, nonce, the verifier of the code, where to go after) waits in a cookie of the browser
that began it, signed and good for ten minutes. Somebody who comes back without it, or with another state, began
elsewhere. The browser may come from the issuer's site, so unlike the session's this cookie is ``SameSite=Lax``.
"""

import base64
import hashlib
import hmac
import logging
import secrets
from collections.abc import Awaitable
from typing import Annotated
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse

from orth.coordinator.http.client_addresses import client_address, is_secure
from orth.coordinator.http.cookies import console_path, set_session_cookie
from orth.coordinator.http.problems import coded
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.signing_in.identities import Identity, key_id_of, read_identity, user_of_identity
from orth.coordinator.signing_in.sessions import Begun, Lifetimes, Origin, begin_session
from orth.domain.sessions import SessionKind, Way
from orth.errors import NotFound, OrthError, Unauthenticated
from orth.store.database import Connection

log = logging.getLogger("orth.http")
router = APIRouter(prefix="/api/v1/auth/oidc", tags=["auth"])

_COOKIE = "orth-oidc"
_GOOD_FOR_S = 600
_NEXT_LIMIT = 500
Text = Annotated[str | None, Query(max_length=4000)]


@router.get("/start", include_in_schema=False, status_code=303)
async def start(
    tools: ToolsHere, request: Request, next: Annotated[str, Query(max_length=_NEXT_LIMIT)] = "/"
) -> RedirectResponse:
    """Go to the issuer."""
    return await _or_told(tools, request, _begun(tools, request, next))


@router.get("/callback", include_in_schema=False, status_code=303)
async def callback(
    tools: ToolsHere, request: Request, state: Text = None, code: Text = None, error: Text = None
) -> RedirectResponse:
    """Come back from the issuer, signed in or not."""
    return await _or_told(tools, request, _ended(tools, request, state, code, error))


async def _or_told(tools: Tools, request: Request, flow: Awaitable[RedirectResponse]) -> RedirectResponse:
    """Where ``flow`` leads to. When it leads nowhere, a browser that shows a page gets ours, which says why in the
    language of its reader; whoever else asks is told as everywhere.
    """
    try:
        return await flow
    except OrthError as error:
        if "text/html" not in request.headers.get("accept", ""):
            raise
        log.warning("nobody was signed in: %s", error)
        said = coded(error)
        # By the code alone: an address is anybody's, and must not put words into our page.
        code = said["code"] if said and not said["facts"] else "issuer_trouble"
        answer = RedirectResponse(f"{console_path(tools.settings).rstrip('/')}/login?refused={code}", 303)
        answer.headers["Cache-Control"] = "no-store"
        return answer


async def _begun(tools: Tools, request: Request, next: str) -> RedirectResponse:
    own = tools.settings.security
    _offered(tools)
    doors = await tools.issuer.doors(tools.settings, tools.clock)
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    asked = {
        "response_type": "code",
        "client_id": own.oidc_client_id,
        "redirect_uri": _redirect_uri(tools, request),
        "scope": " ".join(own.oidc_scopes),
        "state": state,
        "nonce": nonce,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    joint = "&" if urlsplit(doors.authorization).query else "?"
    answer = RedirectResponse(f"{doors.authorization}{joint}{urlencode(asked)}", 303)
    until = tools.clock.now() // 1000 + _GOOD_FOR_S
    begun = {"state": state, "nonce": nonce, "verifier": verifier, "next": local_path(next)}
    answer.set_cookie(
        _COOKIE,
        tools.signing.sign("oidc", begun, until),
        max_age=_GOOD_FOR_S,
        path=_cookie_path(tools),
        secure=is_secure(request, tools.settings),
        httponly=True,
        samesite="lax",
    )
    answer.headers["Cache-Control"] = "no-store"
    return answer


async def _ended(
    tools: Tools, request: Request, state: str | None, code: str | None, error: str | None
) -> RedirectResponse:
    _offered(tools)
    try:
        begun = tools.signing.read(request.cookies.get(_COOKIE, ""), "oidc")
    except Unauthenticated:  # it waited for too long, or nothing was begun here
        raise Unauthenticated.of("sign_in_not_begun") from None
    if not hmac.compare_digest((state or "").encode(), str(begun["state"]).encode()):
        raise Unauthenticated.of("sign_in_not_begun")
    if code is None:
        raise Unauthenticated.of("issuer_refused" if error else "issuer_gave_no_code")
    identity = await _identity(tools, request, code, str(begun["verifier"]), str(begun["nonce"]))
    opened = await tools.db.tx(_begin, identity, _origin(tools, request), tools)
    prefix = console_path(tools.settings).rstrip("/")
    answer = RedirectResponse(prefix + local_path(str(begun["next"])), 303)
    set_session_cookie(answer, request, tools.settings, tools.signing, (opened.session.id, opened.secret))
    answer.delete_cookie(_COOKIE, path=_cookie_path(tools))
    answer.headers["Cache-Control"] = "no-store"
    return answer


def local_path(text: str) -> str:
    """A path of ours to go to; whatever could lead elsewhere is ``/``."""
    plain = text.startswith("/") and not text.startswith("//") and text.isascii() and text.isprintable()
    return text if plain and "\\" not in text else "/"


def _offered(tools: Tools) -> None:
    if tools.settings.security.oidc_issuer is None:
        raise NotFound.of("no_oidc_here")


async def _identity(tools: Tools, request: Request, code: str, verifier: str, nonce: str) -> Identity:
    settings, clock = tools.settings, tools.clock
    token = await tools.issuer.redeem(settings, clock, code, verifier, _redirect_uri(tools, request))
    keys = await tools.issuer.keys(settings, clock, wanted=key_id_of(token))
    return read_identity(token, keys, settings, nonce=nonce, now=clock.now() // 1000)


def _begin(connection: Connection, identity: Identity, origin: Origin, tools: Tools) -> Begun:
    now = tools.clock.now()
    user = user_of_identity(connection, identity, tools.settings, origin.address, now)
    lifetimes = Lifetimes.of(tools.settings)
    return begin_session(connection, user, SessionKind.BROWSER, Way.OIDC, origin, lifetimes=lifetimes, now=now)


def _origin(tools: Tools, request: Request) -> Origin:
    return Origin(client_address(request, tools.settings), request.headers.get("user-agent", ""))


def _redirect_uri(tools: Tools, request: Request) -> str:
    """Where the issuer sends browsers back to: under the console's URL, else under the name we were called by."""
    scheme = "https" if is_secure(request, tools.settings) else "http"
    base = tools.settings.console.base_url or f"{scheme}://{request.headers.get('host', '')}"
    return f"{base}{router.prefix}/callback"


def _cookie_path(tools: Tools) -> str:
    return f"{console_path(tools.settings).rstrip('/')}{router.prefix}"
