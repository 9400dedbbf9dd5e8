"""Tokens of programs and of executors.

A token is shown once, in the answer that makes it. Nobody makes one that may more than they may themselves; those of
executors speak for a group, so only administrators make them.

An API token belongs to the user who made it, and a token that is made with it to the same user: it is good no longer
than the one it was made with. Those of executors are their group's, whoever made them.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator

from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.texts import AppName, Line
from orth.coordinator.http.tools import ToolsHere
from orth.coordinator.tokens import make_secret
from orth.domain.access import Permission, Rights, Role
from orth.domain.audit import Actor, Deed
from orth.domain.networks import checked_network
from orth.domain.tokens import OwnerState, Token, TokenKind, excess
from orth.errors import Forbidden, Invalid, InvalidValue, quotable
from orth.settings.values import format_duration
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.tokens import (
    TokenSecret,
    create_token,
    get_token,
    list_tokens,
    revoke_token,
    rotate_token,
    secrets_of,
)
from orth.store.users import disabled_among

router = APIRouter(prefix="/api/v1/tokens", tags=["tokens"])

TokenId = Annotated[int, Path(ge=1, le=2**63 - 1)]
GroupId = Annotated[int, Field(ge=1, le=2**31 - 1)]
_ADMINISTRATORS = needs(Permission.ADMINISTER, everywhere=True)
_DEFAULT_DAYS = 90
_JOIN_DAYS = 7
_LONGEST_OVERLAP = 30 * 86_400


class TokenBody(BaseModel):
    """A token as it is asked for. ``role`` holds in every group, ``group_roles`` in some; those of executors have
    ``app_names`` instead, and may have ``networks``.
    """

    model_config = ConfigDict(extra="forbid")

    kind: TokenKind = TokenKind.API
    name: Line = Field(min_length=1, max_length=64)
    role: Role | None = None
    group_roles: dict[GroupId, Role] = Field(default_factory=dict, max_length=200)
    app_names: list[AppName] = Field(default_factory=list, max_length=50)
    networks: list[Line] = Field(
        default_factory=list,
        max_length=50,
        description="Of an executor token: the networks from which it is accepted, such as 10.20.0.0/16. "
        "None: from everywhere.",
    )
    once: StrictBool = Field(
        False,
        description="Of an executor token: it admits one executor, also to a group that lets in known ones only, and "
        f"is used up by that. Good for {_JOIN_DAYS} days unless said.",
    )
    expires_in_days: int | None = Field(
        None, ge=1, le=36_500, description=f"{_DEFAULT_DAYS} unless said; those of executors then never expire."
    )

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "TokenBody":
        has_rights = self.role is not None or bool(self.group_roles)
        if self.kind is TokenKind.EXECUTOR and (has_rights or not self.app_names):
            raise InvalidValue.of("executor_token_parts")
        if self.kind is TokenKind.API and (self.app_names or self.networks or self.once or not has_rights):
            raise InvalidValue.of("api_token_parts")
        for network in self.networks:
            _checked_network(network)
        return self

    def token(self, caller: Caller, now: int) -> Token:
        return Token(
            kind=self.kind,
            name=self.name,
            rights=Rights(self.role, self.group_roles),
            app_names=tuple(dict.fromkeys(self.app_names)),
            networks=tuple(dict.fromkeys(map(_checked_network, self.networks))),
            created_by=caller.owner[:64],
            created_at=now,
            expires_at=self._end(caller, now),
            once=self.once,
        )

    def _end(self, caller: Caller, now: int) -> int | None:
        """When it expires. Unless it was said, not after the token it is made with."""
        if self.kind is TokenKind.EXECUTOR and self.expires_in_days is None:
            return now + _JOIN_DAYS * 86_400_000 if self.once else None
        end = now + (self.expires_in_days or _DEFAULT_DAYS) * 86_400_000
        bound = None if caller.token is None or self.kind is TokenKind.EXECUTOR else caller.token.expires_at
        return end if bound is None or self.expires_in_days is not None else min(end, bound)


def _checked_network(text: str) -> str:
    try:
        return checked_network(text)
    except ValueError:
        raise InvalidValue.of("not_a_network", text=quotable(text, 60)) from None


class Rotation(BaseModel):
    model_config = ConfigDict(extra="forbid")

    overlap: int = Field(
        86_400, ge=0, le=_LONGEST_OVERLAP, description="Seconds for which the secret it has now stays good."
    )


class SecretShown(BaseModel):
    shown: str = Field(description="How it begins.")
    valid_until: int | None = Field(description="Set on one that was replaced.")


class TokenShown(BaseModel):
    id: int
    kind: TokenKind
    name: str
    role: Role | None
    group_roles: dict[int, Role]
    app_names: list[str]
    networks: list[str] = Field(description="Of an executor token: those it is accepted from. None: everywhere.")
    once: bool = Field(description="Of an executor token: it admits one executor and is used up by that.")
    created_by: str = Field(description="The user who owns it.")
    owner_state: OwnerState | None = Field(
        description="An API token is good only while its owner is active, and may no more than they may. Null: it is a "
        "group's, and asks for no owner."
    )
    created_at: int
    expires_at: int | None
    last_used_at: int | None = Field(description="To within a minute.")
    revoked_at: int | None
    secrets: list[SecretShown] = Field(description="What proves it, the newest first; two while it is rotated.")


class TokenMade(TokenShown):
    token: str = Field(description="The text to show. It is told now and never again.")


@router.get("", dependencies=[_ADMINISTRATORS])
async def tokens(tools: ToolsHere, limit: Limit = 50, cursor: Cursor = None) -> Page[TokenShown]:
    """All tokens, also those that are over, in order of id."""
    seen = await tools.db.read(_listed, position(cursor) or 0, limit + 1)
    return Page[TokenShown](**page(seen, limit, lambda one: one.token.id, _shown))


@router.post("", status_code=201, dependencies=[_ADMINISTRATORS])
async def create(body: TokenBody, tools: ToolsHere, caller: CallerHere) -> TokenMade:
    """Make a token."""
    now = tools.clock.now()
    token = body.token(caller, now)
    _check_lifetime(token, tools.settings.security.token_longest)
    _check_rights(token, caller)
    _check_made_with(token, caller)
    text, secret = make_secret(token.kind, tools.sealing)
    stored = await tools.db.tx(_store, token, secret, caller.actor, now)
    return TokenMade(**_shown(stored), token=text)


@router.get("/{token_id}", dependencies=[_ADMINISTRATORS])
async def show(token_id: TokenId, tools: ToolsHere) -> TokenShown:
    """One token, without what proves it."""
    return TokenShown(**_shown(await tools.db.read(_found, token_id)))


@router.post("/{token_id}/rotate", dependencies=[_ADMINISTRATORS])
async def rotate(token_id: TokenId, tools: ToolsHere, caller: CallerHere, body: Rotation | None = None) -> TokenMade:
    """Give a token a new secret; the old one stays good for the overlap, and none before it."""
    now = tools.clock.now()
    until = now + (body or Rotation(overlap=86_400)).overlap * 1000
    token = await tools.db.read(get_token, token_id)
    _check_rights(token, caller)
    _check_made_with(token, caller)
    text, secret = make_secret(token.kind, tools.sealing)
    rotated = await tools.db.tx(_replace_secret, token_id, secret, until, caller.actor, now)
    return TokenMade(**_shown(rotated), token=text)


@router.delete("/{token_id}", status_code=204, dependencies=[_ADMINISTRATORS])
async def revoke(token_id: TokenId, tools: ToolsHere, caller: CallerHere) -> None:
    """End a token at once. It stays in the list for a while."""
    await tools.db.tx(_revoke, token_id, caller.actor, tools.clock.now())


def _check_lifetime(token: Token, longest: timedelta) -> None:
    lifetime = (token.expires_at or token.created_at) - token.created_at
    if token.kind is TokenKind.API and lifetime > longest.total_seconds() * 1000:
        raise Invalid.of("token_lasts_too_long", longest=format_duration(longest), field="expires_in_days")


def _check_rights(token: Token, caller: Caller) -> None:
    more = excess(token.rights, caller.rights)
    if more is None:
        return
    permission, group_id = more
    if group_id is None:
        raise Forbidden.of("token_exceeds", permission=permission.value, name=caller.name)
    raise Forbidden.of("token_exceeds_in_group", permission=permission.value, group=group_id, name=caller.name)


def _check_made_with(token: Token, caller: Caller) -> None:
    """Refuse a program a text that is good for longer than its own, or that stays good when its own owner goes."""
    own = caller.token
    if own is None or token.kind is not TokenKind.API:
        return
    if token.created_by != own.created_by:
        raise Forbidden.of("token_of_another", owner=token.created_by, name=caller.name, own=own.created_by)
    if token.outlives(own):
        raise Forbidden.of("token_outlives", name=caller.name)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A token with what is shown beside it."""

    token: Token
    secrets: list[TokenSecret]
    owner: OwnerState | None


def _store(connection: Connection, token: Token, secret: TokenSecret, actor: Actor, now: int) -> _Seen:
    token_id = create_token(connection, token, secret, now)
    stored = _found(connection, token_id)
    record(connection, actor, Deed("token.create", "token", str(token_id), after=_told(stored.token)), now)
    return stored


def _replace_secret(
    connection: Connection, token_id: int, secret: TokenSecret, until: int, actor: Actor, now: int
) -> _Seen:
    rotate_token(connection, token_id, secret, until, now)
    record(connection, actor, Deed("token.rotate", "token", str(token_id), after={"old_until": until}), now)
    return _found(connection, token_id)


def _revoke(connection: Connection, token_id: int, actor: Actor, now: int) -> None:
    token = revoke_token(connection, token_id, now)
    if token.revoked_at is None:
        record(connection, actor, Deed("token.revoke", "token", str(token_id), before=_told(token)), now)


def _listed(connection: Connection, after: int, limit: int) -> list[_Seen]:
    return _seen(connection, list_tokens(connection, after, limit))


def _found(connection: Connection, token_id: int) -> _Seen:
    [seen] = _seen(connection, [get_token(connection, token_id)])
    return seen


def _seen(connection: Connection, tokens: list[Token]) -> list[_Seen]:
    secrets = secrets_of(connection, [token.id for token in tokens])
    owners = disabled_among(connection, {token.created_by for token in tokens})
    states = {True: OwnerState.DISABLED, False: OwnerState.ACTIVE, None: OwnerState.REMOVED}
    return [
        _Seen(
            token,
            secrets.get(token.id, []),
            states[owners.get(token.created_by)] if token.kind is TokenKind.API else None,
        )
        for token in tokens
    ]


def _told(token: Token) -> dict[str, object]:
    """What the audit says of a token."""
    rights = token.rights
    return {
        "kind": token.kind.value,
        "name": token.name,
        "role": rights.everywhere,
        "group_roles": {str(group): role.value for group, role in rights.in_groups.items()},
        "app_names": list(token.app_names),
        "networks": list(token.networks),
        "once": token.once,
        "expires_at": token.expires_at,
    }


def _shown(seen: _Seen) -> dict[str, Any]:
    token = seen.token
    return {
        "id": token.id,
        "kind": token.kind,
        "name": token.name,
        "role": token.rights.everywhere,
        "group_roles": dict(token.rights.in_groups),
        "app_names": list(token.app_names),
        "networks": list(token.networks),
        "once": token.once,
        "created_by": token.created_by,
        "owner_state": seen.owner,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "last_used_at": token.last_used_at,
        "revoked_at": token.revoked_at,
        "secrets": [{"shown": one.shown, "valid_until": one.valid_until} for one in seen.secrets],
    }
