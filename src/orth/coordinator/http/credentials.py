"""Who is calling, read from the credential of a request: an access token, an API token, or a browser's cookie.

A browser sends its cookie with whatever page asks it to. So a request that changes something also needs the CSRF token
in ``X-CSRF-Token``, which only pages of ours can read, and comes from a page of ours. A bearer needs neither: no
browser sends that by itself.

A token in an address is refused, whether it is good or not: addresses end up in logs.
"""

import hmac
from contextlib import suppress

from starlette.requests import HTTPConnection

from orth.coordinator.http.callers import Caller
from orth.coordinator.http.client_addresses import client_address
from orth.coordinator.http.cookies import session_cookie
from orth.coordinator.http.origins import check_origin
from orth.coordinator.http.token_callers import token_caller
from orth.coordinator.http.tools import Tools
from orth.coordinator.signing import digest_of
from orth.coordinator.signing_in.sessions import Lifetimes, is_worth_noting, note_session_use
from orth.domain.sessions import Session, SessionKind
from orth.errors import Forbidden, StoreUnavailable, Unauthenticated
from orth.store.sessions import SignedIn, find_signed_in

CSRF_HEADER = "X-CSRF-Token"
ANSWERED_FROM_MEMORY = frozenset({"/api/v1/executors", "/metrics"})
"""What can be read while the database is away."""
_NOTED = "orth.session_use_noted"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_TOKENS_IN_QUERY = ("access_token", "token", "api_key", "authorization")


async def caller_of(tools: Tools, connection: HTTPConnection) -> Caller:
    """The caller, or 401."""
    refuse_token_in_address(connection)
    token = _bearer(connection)
    if token is not None:
        return await caller_with(tools, token, connection)
    shown = session_cookie(connection, tools.settings)
    if shown is None:
        raise Unauthenticated.of("needs_sign_in")
    session_id, secret = shown
    found = await _signed_in(tools, session_id, connection)
    session = found.session
    if session.kind is not SessionKind.BROWSER or not hmac.compare_digest(session.digest, digest_of(secret)):
        raise _ended()
    caller = _caller(tools, found, connection)  # first, so that the audit can tell in whose session a page was refused
    if connection.scope["type"] == "http" and connection.scope["method"] not in _SAFE:
        _check_page(tools, connection, session_id)
    await _note_use(tools, connection, session)
    return caller


async def caller_with(tools: Tools, token: str, connection: HTTPConnection) -> Caller:
    """The caller who shows this token, which need not have come in the usual header."""
    program = await token_caller(tools, token.strip(), client_address(connection, tools.settings))
    if program is not None:
        connection.state.actor = program.actor
        return program
    claim = tools.signing.read_access(token.strip())
    found = await _signed_in(tools, claim.session_id, connection)
    if found.user.username != claim.username or found.session.kind is not SessionKind.TOKENS:
        raise _ended()
    return _caller(tools, found, connection)


def refuse_token_in_address(connection: HTTPConnection) -> None:
    if any(name in connection.query_params for name in _TOKENS_IN_QUERY):
        raise Unauthenticated.of("token_in_address")


def _bearer(connection: HTTPConnection) -> str | None:
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def _check_page(tools: Tools, connection: HTTPConnection, session_id: str) -> None:
    """Refuse a change that a page of another site has made a browser send."""
    check_origin(connection, tools.settings)
    shown = connection.headers.get(CSRF_HEADER, "")
    if not hmac.compare_digest(shown.encode(), tools.signing.csrf_token(session_id).encode()):
        raise Forbidden.of("csrf_missing", header=CSRF_HEADER)


async def _note_use(tools: Tools, connection: HTTPConnection, session: Session) -> None:
    """Once for a request. A socket or stream that goes on and on, and asks again and again, is not somebody at work."""
    now, first = tools.clock.now(), not connection.scope.get(_NOTED)
    connection.scope[_NOTED] = True
    if first and is_worth_noting(session, now):
        with suppress(StoreUnavailable):  # then what is asked for is answered from memory, or not at all
            await tools.db.tx(note_session_use, session, Lifetimes.of(tools.settings), now)


async def _signed_in(tools: Tools, session_id: str, connection: HTTPConnection) -> SignedIn:
    """The session as the database has it, or, while that is away, as it had it a few minutes ago.

    The latter only for what is itself answered from memory then; everything else needs the database, and so who asks
    does.
    """
    scope = connection.scope
    from_memory = scope["type"] == "http" and scope["method"] == "GET" and scope["path"] in ANSWERED_FROM_MEMORY
    try:
        found = await tools.db.read(find_signed_in, session_id, tools.clock.now())
    except StoreUnavailable:
        remembered = tools.remembered.find(session_id, tools.clock.monotonic()) if from_memory else None
        if remembered is None:
            raise
        return remembered
    if found is None:
        tools.remembered.forget([session_id])
        raise _ended()
    tools.remembered.note(found, tools.clock.monotonic())
    return found


def _caller(tools: Tools, found: SignedIn, connection: HTTPConnection) -> Caller:
    caller = Caller(
        found.user.username,
        found.user.rights,
        address=client_address(connection, tools.settings),
        session_id=found.session.id,
    )
    connection.state.actor = caller.actor  # for the audit, should a refusal follow
    return caller


def _ended() -> Unauthenticated:
    return Unauthenticated.of("session_ended")
