"""Signing in and out, and the sessions one has.

Who signs in by password gets tokens (``/login``) or, in a browser, a cookie (``/session``). Whatever is wrong with a
name and a password, the answer is the same and costs the same.
"""

import asyncio
from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from orth.clock import iso
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.changes import mark_now
from orth.coordinator.http.client_addresses import client_address
from orth.coordinator.http.cookies import drop_session_cookie, set_session_cookie
from orth.coordinator.http.origins import check_origin
from orth.coordinator.http.refused_callers import told_already
from orth.coordinator.http.texts import Prose
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.people import SHORTEST_PASSWORD, check_password
from orth.coordinator.signing import Claim, Refresh, hash_password, password_fits
from orth.coordinator.signing_in.gate import REMEMBERED, SignInPriority
from orth.coordinator.signing_in.links import use_link
from orth.coordinator.signing_in.sessions import Begun, Lifetimes, Origin, begin_session, end_own_session, renew_session
from orth.coordinator.signing_in.throttling import Attempt, forgive, record_refusal, take_back, take_try
from orth.domain.access import Rights, Role
from orth.domain.audit import Actor, Deed
from orth.domain.sessions import Session, SessionKind, Way
from orth.errors import Conflict, Forbidden, NotFound, TooBusy, TooManyTries, Unauthenticated
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.preferences import preferences_of
from orth.store.sessions import SignedIn, carry_over, end_sessions, find_signed_in, newest_origins, sessions_of
from orth.store.users import User, find_user, hold_user, set_password

router = APIRouter(prefix="/api/v1/auth", tags=["auth"])

_LONGEST_PASSWORD = 1000
_ORIGINS_READ_EVERY = 60.0
"""Seconds after which it is looked where people signed in at other nodes."""
Password = Annotated[str, Field(max_length=_LONGEST_PASSWORD)]
SessionId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Login(_Body):
    username: Prose = Field(max_length=50)
    password: Password


class RefreshBody(_Body):
    refresh_token: str = Field(max_length=5000)


class LinkBody(_Body):
    token: str = Field(max_length=200)


class PasswordBody(_Body):
    old_password: Password
    new_password: str = Field(min_length=SHORTEST_PASSWORD, max_length=_LONGEST_PASSWORD)


class Tokens(BaseModel):
    access_token: str
    refresh_token: str
    token_type: str = "Bearer"  # noqa: S105  # the name of the scheme, not a secret
    expires_in: int


class RightsShown(BaseModel):
    everywhere: Role | None
    in_groups: dict[int, Role]


class BrowserSession(BaseModel):
    """What a page knows of the session it is in; the cookie it cannot read."""

    username: str
    csrf_token: str = Field(description="To be sent in X-CSRF-Token with whatever changes something.")
    rights: RightsShown
    preferences: dict[str, JsonValue] = Field(
        default_factory=dict, description="What they chose for the console; see /api/v1/auth/preferences."
    )
    changes_mark: str | None = Field(
        None, description="To be shown as since= to /api/v1/changes: what changed after this answer is told there."
    )


class SessionShown(BaseModel):
    id: str
    kind: SessionKind
    way: Way = Field(description="How it was begun.")
    created_at: str
    seen_at: str
    expires_at: str = Field(description="When it ends if it is not used before.")
    address: str
    agent: str
    current: bool = Field(description="Whether it is the one this request was made in.")


class SessionList(BaseModel):
    items: list[SessionShown]
    next_cursor: None = None


class SessionsEnded(BaseModel):
    ended: int


class Ways(BaseModel):
    """How people may sign in here."""

    ways: list[Way]


# --- by password, for programs


@router.post("/login")
async def login(body: Login, tools: ToolsHere, request: Request, response: Response) -> Tokens:
    """Exchange name and password for tokens."""
    user, attempt = await _known_by_password(tools, body, request)
    begun = await tools.db.tx(_begin_after_try, attempt, user, SessionKind.TOKENS, _origin(tools, request), tools)
    session = begun.session
    refresh = Refresh(session.id, session.generation, begun.secret)
    response.headers["Cache-Control"] = "no-store"
    return _tokens(tools, user.username, refresh, session.idle_until)


@router.post("/refresh")
async def refresh(body: RefreshBody, tools: ToolsHere, request: Request, response: Response) -> Tokens:
    """Exchange a refresh token for new tokens. It can be used once; using it again later ends the session."""
    shown = tools.signing.read_refresh(body.refresh_token)
    address = client_address(request, tools.settings)
    lifetimes, now = Lifetimes.of(tools.settings), tools.clock.now()
    renewed = await tools.db.tx(renew_session, shown, address, lifetimes=lifetimes, now=now)
    if renewed is None:
        forget_sessions(tools, [shown.session_id])
        raise Unauthenticated.of("session_ended")
    response.headers["Cache-Control"] = "no-store"
    return _tokens(tools, renewed.signed_in.user.username, renewed.refresh, renewed.until)


# --- in a browser


@router.get("/ways")
async def ways(tools: ToolsHere) -> Ways:
    """How people may sign in here."""
    issuer = tools.settings.security.oidc_issuer
    return Ways(ways=[Way.PASSWORD, Way.LINK, *([Way.OIDC] if issuer is not None else [])])


@router.post("/session")
async def begin_browser_session(body: Login, tools: ToolsHere, request: Request, response: Response) -> BrowserSession:
    """Sign a browser in by name and password: sets a cookie."""
    check_origin(request, tools.settings)
    user, attempt = await _known_by_password(tools, body, request)
    begun = await tools.db.tx(_begin_after_try, attempt, user, SessionKind.BROWSER, _origin(tools, request), tools)
    return await _give_session(tools, request, response, begun, user)


@router.post("/link")
async def open_link(body: LinkBody, tools: ToolsHere, request: Request, response: Response) -> BrowserSession:
    """Sign a browser in by a one-time link: sets a cookie."""
    check_origin(request, tools.settings)
    origin = _origin(tools, request)
    attempt = Attempt("", origin.address)
    await _count_try(tools, attempt)
    opened = await tools.db.tx(_begin_by_link, body.token, attempt, origin, tools)
    if opened is None:
        told_already(request)
        raise Unauthenticated.of("link_not_good")
    user, begun = opened
    return await _give_session(tools, request, response, begun, user)


@router.get("/session", dependencies=[needs(None)])
async def show_browser_session(caller: CallerHere, request: Request, response: Response) -> BrowserSession:
    """What a page needs to know of the session it is in."""
    return await _shown_session(request, response, (caller.name, caller.rights), _session_of(caller))


# --- the sessions one has


@router.post("/logout", status_code=204, dependencies=[needs(None)])
async def logout(tools: ToolsHere, caller: CallerHere, request: Request, response: Response) -> None:
    """End the session this request is made in."""
    own = await signed_in_caller(tools, caller)
    await _end_one(tools, caller, own.session.id, own.user.id)
    drop_session_cookie(response, request, tools.settings)


@router.get("/sessions", dependencies=[needs(None)])
async def list_sessions(tools: ToolsHere, caller: CallerHere) -> SessionList:
    """Where one is signed in."""
    own = await signed_in_caller(tools, caller)
    found = await tools.db.read(sessions_of, own.user.id, tools.clock.now())
    return SessionList(items=[session_shown(one, own.session.id) for one in found])


@router.delete("/sessions", dependencies=[needs(None)])
async def end_other_sessions(tools: ToolsHere, caller: CallerHere) -> SessionsEnded:
    """Sign out everywhere else."""
    own = await signed_in_caller(tools, caller)
    ended = await tools.db.tx(_end_others, caller.actor, own, tools.clock.now())
    forget_sessions(tools, ended)
    return SessionsEnded(ended=len(ended))


@router.delete("/sessions/{session_id}", status_code=204, dependencies=[needs(None)])
async def end_one_session(session_id: SessionId, tools: ToolsHere, caller: CallerHere) -> None:
    """Sign out somewhere."""
    own = await signed_in_caller(tools, caller)
    if not await _end_one(tools, caller, session_id, own.user.id):
        raise NotFound("session", session_id)


@router.post("/password", dependencies=[needs(None)])
async def change_password(body: PasswordBody, tools: ToolsHere, caller: CallerHere, request: Request) -> SessionsEnded:
    """Change one's own password, which ends all other sessions."""
    own = await signed_in_caller(tools, caller)
    check_password(body.new_password, own.user.username, field="new_password")
    attempt = Attempt(own.user.username, client_address(request, tools.settings))
    await _count_try(tools, attempt)
    if not await _compared(tools, attempt, body.old_password, own.user):
        await tools.db.tx(record_refusal, attempt, True, tools.clock.now())
        told_already(request)
        raise Forbidden.of("old_password_wrong")
    hashed = await _hashed(tools, own.user.username, body.new_password)
    ended = await tools.db.tx(_change_password, own, attempt, hashed, caller.actor, tools.clock.now())
    if ended is None:
        raise Conflict.of("password_changed_meanwhile")
    forget_sessions(tools, ended)
    return SessionsEnded(ended=len(ended))


# --- what the routes do


async def _known_by_password(tools: Tools, body: Login, request: Request) -> tuple[User, Attempt]:
    """Somebody whose password fits, or 401; 429 for who has tried too often."""
    attempt = Attempt(body.username, client_address(request, tools.settings))
    await _count_try(tools, attempt)
    user = await tools.db.read(find_user, body.username)
    fits = await _compared(tools, attempt, body.password, user)
    if user is None or not fits or user.disabled_at is not None:
        await tools.db.tx(record_refusal, attempt, user is not None, tools.clock.now())
        told_already(request)
        raise Unauthenticated.of("wrong_password")
    tools.recent_sign_ins.note(attempt.address, user.username)
    return user, attempt


async def _count_try(tools: Tools, attempt: Attempt) -> None:
    wait = await tools.db.tx(take_try, attempt, tools.clock.now())
    if wait > 0:
        raise TooManyTries(wait)


async def _compared(tools: Tools, attempt: Attempt, password: str, user: User | None) -> bool:
    priority = await _priority(tools, attempt)
    try:
        async with tools.sign_in_gate.turn(attempt.address, attempt.username, priority):
            return await asyncio.to_thread(password_fits, password, user.password if user else None)
    except TooBusy:
        await tools.db.tx(take_back, attempt)  # it was not looked at
        raise


async def _priority(tools: Tools, attempt: Attempt) -> SignInPriority:
    """What is known of somebody, by the sessions of all nodes and the sign-ins at this one."""
    known, now = tools.recent_sign_ins, tools.clock.monotonic()
    if known.read_at is None or now - known.read_at >= _ORIGINS_READ_EVERY:
        known.note_all(await tools.db.read(newest_origins, REMEMBERED), now)
    return known.priority_of(attempt.address, attempt.username)


async def _hashed(tools: Tools, username: str, password: str) -> str:
    async with tools.sign_in_gate.turn("", username, SignInPriority.KNOWN_CALLER):  # the user is signed in
        return await asyncio.to_thread(hash_password, password)


def _begin_after_try(
    connection: Connection, attempt: Attempt, user: User, kind: SessionKind, origin: Origin, tools: Tools
) -> Begun:
    forgive(connection, attempt)
    return begin_session(
        connection,
        user,
        kind,
        Way.PASSWORD,
        origin,
        lifetimes=Lifetimes.of(tools.settings),
        now=tools.clock.now(),
    )


def _begin_by_link(
    connection: Connection, token: str, attempt: Attempt, origin: Origin, tools: Tools
) -> tuple[User, Begun] | None:
    now = tools.clock.now()
    user = use_link(connection, token, now)
    if user is None:
        record_refusal(connection, attempt, False, now)
        return None
    forgive(connection, attempt)
    lifetimes = Lifetimes.of(tools.settings)
    return user, begin_session(connection, user, SessionKind.BROWSER, Way.LINK, origin, lifetimes=lifetimes, now=now)


async def _give_session(tools: Tools, request: Request, response: Response, begun: Begun, user: User) -> BrowserSession:
    """Give a browser its session."""
    given = (begun.session.id, begun.secret)
    set_session_cookie(response, request, tools.settings, tools.signing, given)
    return await _shown_session(request, response, (user.username, user.rights), begun.session.id)


async def _shown_session(
    request: Request, response: Response, whose: tuple[str, Rights], session_id: str
) -> BrowserSession:
    response.headers["Cache-Control"] = "no-store"
    username, rights = whose
    tools: Tools = request.app.state.tools
    return BrowserSession(
        username=username,
        csrf_token=tools.signing.csrf_token(session_id),
        rights=RightsShown(everywhere=rights.everywhere, in_groups=dict(rights.in_groups)),
        preferences=await tools.db.read(preferences_of, username),
        changes_mark=await mark_now(request.app.state.pulse, tools.signing, rights),
    )


def _tokens(tools: Tools, username: str, refresh: Refresh, until: int) -> Tokens:
    return Tokens(
        access_token=tools.signing.access_token(Claim(username, refresh.session_id)),
        refresh_token=tools.signing.refresh_token(refresh, until),
        expires_in=tools.signing.access_seconds,
    )


def _session_of(caller: Caller) -> str:
    if caller.session_id is None:
        raise Forbidden.of("people_only")
    return caller.session_id


async def signed_in_caller(tools: Tools, caller: Caller) -> SignedIn:
    """The session a request is made in, and whose it is."""
    found = await tools.db.read(find_signed_in, _session_of(caller), tools.clock.now())
    if found is None:
        raise Unauthenticated.of("session_ended")
    return found


async def _end_one(tools: Tools, caller: Caller, session_id: str, user_id: int) -> bool:
    ended = await tools.db.tx(end_own_session, caller.actor, session_id, user_id, tools.clock.now())
    forget_sessions(tools, [session_id])
    return ended


def _end_others(connection: Connection, actor: Actor, own: SignedIn, now: int) -> list[str]:
    ended = end_sessions(connection, own.user.id, but=own.session.id)
    record(connection, actor, Deed("session.end_others", "user", own.user.username, after={"ended": len(ended)}), now)
    return ended


def _change_password(
    connection: Connection, own: SignedIn, attempt: Attempt, hashed: str, actor: Actor, now: int
) -> list[str] | None:
    """The sessions that ended; None when somebody else has changed the password meanwhile."""
    if hold_user(connection, own.user.id).password_version != own.user.password_version:
        return None
    forgive(connection, attempt)
    set_password(connection, own.user.username, hashed, now)
    ended = end_sessions(connection, own.user.id, but=own.session.id)
    carry_over(connection, own.session.id, own.user.password_version + 1)
    record(connection, actor, Deed("user.password", "user", own.user.username, after={"ended": len(ended)}), now)
    return ended


def forget_sessions(tools: Tools, session_ids: Iterable[str]) -> None:
    """What hangs on these sessions here ends now, without waiting for the next look at the store."""
    ended = list(session_ids)
    tools.remembered.forget(ended)
    tools.held.tell_over(ended)


def _origin(tools: Tools, request: Request) -> Origin:
    agent = request.headers.get("user-agent", "")
    return Origin(client_address(request, tools.settings), "".join(c for c in agent if c.isprintable()))


def session_shown(session: Session, current: str) -> SessionShown:
    return SessionShown(
        id=session.id,
        kind=session.kind,
        way=session.way,
        created_at=iso(session.created_at),
        seen_at=iso(session.seen_at),
        expires_at=iso(session.idle_until),
        address=session.address,
        agent=session.agent,
        current=session.id == current,
    )
