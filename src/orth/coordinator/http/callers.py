"""Who is calling, and what every route asks of them.

A route that does not say which permission it needs is not part of the application: ``build_app`` refuses to start with
it. What belongs to a group is checked where it is found, by ``Caller.check``; what the caller may not see is answered
as if it were not there, and told to the audit.

How a credential is read is not known here: ``build_app`` puts ``app.state.caller_of``.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import HTTPConnection
from starlette.types import Scope

from orth.connections import known_caller
from orth.coordinator.http.rates import BYTES_OF_A_DROP
from orth.coordinator.http.strict_requests import check_understood
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.domain.access import Permission, Rights
from orth.domain.audit import Actor, ActorKind
from orth.domain.tokens import Token
from orth.errors import Forbidden, Hidden


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request, from its credential alone."""

    name: str
    rights: Rights
    kind: ActorKind = ActorKind.USER
    address: str = ""
    session_id: str | None = None
    """The session it is part of, which sockets end with."""
    token: Token | None = None
    """The API token it showed."""

    @property
    def owner(self) -> str:
        """The user behind it."""
        return self.name if self.token is None else self.token.created_by

    @property
    def identity(self) -> str:
        """Whose bounds it is held to."""
        return f"{self.kind.value} {self.name}"

    @property
    def actor(self) -> Actor:
        return Actor(self.kind, self.name, self.address)

    def check(self, permission: Permission, group_id: int | None, what: str, key: object) -> None:
        """Refuse what may not be done in that group; where it may not even be seen, as if it were not there. Without a
        group it is about everything, and a role in some groups is not enough.
        """
        if self.rights.allows(permission, group_id):
            return
        if group_id is not None and not self.rights.allows(Permission.VIEW, group_id):
            raise Hidden(what, key)
        raise self._lacking(permission, everywhere=group_id is None)

    def check_somewhere(self, permission: Permission) -> None:
        """Refuse what may not be done in any group."""
        if not self.rights.allows_somewhere(permission):
            raise self._lacking(permission, everywhere=False)

    def check_person(self) -> None:
        """Refuse a program what would outlive its token: a right or a password of somebody stays when that is over."""
        if self.token is not None:
            raise Forbidden.of("needs_person", name=self.name)

    def _lacking(self, permission: Permission, *, everywhere: bool) -> Forbidden:
        code = "needs_permission_everywhere" if everywhere else "needs_permission"
        return Forbidden.of(code, name=self.name, permission=permission.value)


_FOUND = "orth.caller"

CallerOf = Callable[[Tools, HTTPConnection], Awaitable[Caller]]
"""Reads who is calling from the credential of a request, or refuses it with 401."""

BearerHere = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(HTTPBearer(auto_error=False, description="The access_token of POST /api/v1/auth/login.")),
]
"""Only for the OpenAPI document, which says by this how to show a credential."""


async def caller_of(tools: Tools, connection: HTTPConnection) -> Caller:
    """Who is calling; 401 when nobody says so, or not well enough."""
    caller = connection.scope.pop(_FOUND, None) or await _read_caller(tools, connection)
    tools.callers.take(caller.identity)
    return caller


async def find_caller(tools: Tools, connection: HTTPConnection) -> Caller:
    """See who is calling before anything else is looked at, for the first who asks; 401 likewise."""
    caller = connection.scope[_FOUND] = await _read_caller(tools, connection)
    return caller


def charge(scope: Scope, size: int) -> None:
    """Have the caller that was found pay for ``size`` bytes, besides the request itself."""
    caller: Caller | None = scope.get(_FOUND)
    if caller is not None:
        tools: Tools = scope["app"].state.tools
        tools.callers.take(caller.identity, size // BYTES_OF_A_DROP)


async def _read_caller(tools: Tools, connection: HTTPConnection) -> Caller:
    read: CallerOf = connection.app.state.caller_of
    caller = await read(tools, connection)
    known_caller(connection.scope, caller.identity)
    return caller


async def signed_in(tools: ToolsHere, request: Request, _documented: BearerHere) -> Caller:
    """The caller of a request, or 401."""
    return await caller_of(tools, request)


CallerHere = Annotated[Caller, Depends(signed_in)]


@dataclass(frozen=True, slots=True)
class Need:
    """What a route asks of its callers, before it looks at anything: a permission, or only to be signed in, and a
    request that it understands.
    """

    permission: Permission | None
    everywhere: bool

    async def __call__(self, caller: CallerHere, request: Request) -> None:
        if self.permission is not None and self.everywhere:
            caller.check(self.permission, None, "", "")
        elif self.permission is not None:
            caller.check_somewhere(self.permission)
        await check_understood(request)


def needs(permission: Permission | None, *, everywhere: bool = False) -> Any:
    """A dependency that lets through who has the permission in some group; the route then checks the one it is about.

    ``everywhere``: for what belongs to no group. None: whoever is signed in.
    """
    return Depends(Need(permission, everywhere))
