"""Signing in, and who is calling."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from orth.connections import known_caller
from orth.coordinator.http.texts import Prose
from orth.coordinator.http.tools import Tools, tools_of
from orth.coordinator.signing import Claim, password_fits
from orth.errors import StoreUnavailable, Unauthenticated
from orth.store.users import User, find_user

router = APIRouter(prefix="/api/v1/auth", tags=["auth"])

ANSWERED_FROM_MEMORY = frozenset({"/api/v1/executors", "/metrics"})
"""What can be read while the database is away."""

ToolsHere = Annotated[Tools, Depends(tools_of)]
BearerHere = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(HTTPBearer(auto_error=False, description="The access_token of POST /api/v1/auth/login.")),
]


class Login(BaseModel):
    model_config = ConfigDict(extra="forbid")

    username: Prose = Field(max_length=50)
    password: str = Field(max_length=1000)


class Refresh(BaseModel):
    model_config = ConfigDict(extra="forbid")

    refresh_token: str = Field(max_length=5000)


class Session(BaseModel):
    access_token: str
    refresh_token: str
    token_type: str = "Bearer"  # noqa: S105  # the name of the scheme, not a secret
    expires_in: int


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request, from its credential alone."""

    username: str
    role: str


async def signed_in(tools: ToolsHere, shown: BearerHere, request: Request) -> Caller:
    """The caller, or 401. Every admin route depends on this."""
    if shown is None:
        raise Unauthenticated(
            "This needs a signed-in caller.",
            hint="Sign in with POST /api/v1/auth/login and send Authorization: Bearer …",
        )
    claim = tools.signing.read(shown.credentials.strip(), "access")
    from_memory = request.method == "GET" and request.url.path in ANSWERED_FROM_MEMORY
    user = await (_known_user if from_memory else _user_of)(tools, claim)
    known_caller(request.scope)
    return Caller(user.username, user.role)


async def caller_with(tools: Tools, token: str) -> Caller:
    """The caller who shows this access token, where it does not come in the usual header."""
    user = await _user_of(tools, tools.signing.read(token, "access"))
    return Caller(user.username, user.role)


CallerHere = Annotated[Caller, Depends(signed_in)]


@router.post("/login")
async def login(body: Login, tools: ToolsHere) -> Session:
    """Exchange name and password for tokens."""
    user = await tools.db.read(find_user, body.username)
    async with tools.logins:
        fits = await asyncio.to_thread(password_fits, body.password, user.password if user else None)
    if user is None or not fits:
        raise Unauthenticated("The user name or the password is wrong.")
    return _session(tools, user)


@router.post("/refresh")
async def refresh(body: Refresh, tools: ToolsHere) -> Session:
    """Exchange a refresh token for new tokens."""
    return _session(tools, await _user_of(tools, tools.signing.read(body.refresh_token, "refresh")))


async def _known_user(tools: Tools, claim: Claim) -> User:
    """The user as the database has it, or, while it is away, as it had it a few minutes ago.

    Only for what is itself answered from memory then; everything else needs the database, and so who asks does.
    """
    try:
        return await _user_of(tools, claim)
    except StoreUnavailable:
        remembered = tools.users.find(claim.username, tools.clock.monotonic())
        if remembered is None or remembered.password_version != claim.password_version:
            raise
        return remembered


async def _user_of(tools: Tools, claim: Claim) -> User:
    user = await tools.db.read(find_user, claim.username)
    if user is None or user.password_version != claim.password_version:
        raise Unauthenticated("The session has ended.", hint="Sign in again.")
    tools.users.note(user, tools.clock.monotonic())
    return user


def _session(tools: Tools, user: User) -> Session:
    claim = Claim(user.username, user.password_version)
    return Session(
        access_token=tools.signing.token(claim, "access"),
        refresh_token=tools.signing.token(claim, "refresh"),
        expires_in=tools.signing.seconds("access"),
    )
