"""``/api/v1/changes``: a WebSocket that tells a page where to look again.

A message names subjects that may have changed, ``{"type": "changed", "subjects": ["executions"]}``, and never what
changed: the page asks for what it shows, with its own rights, so nothing is told here that somebody may not see, and a
message that is lost costs a moment and no truth. A beat comes when nothing else does; who hears neither has lost the
line.

One subject is about who listens: ``session`` is told to those whose own rights have changed, and to nobody else. That
somebody's have is a sign which each line looks into for itself.

A page asks for what it shows while its line is still being opened. What changes in between is not lost: the page is
given a mark with its session, before it asks for anything, and shows it when it opens the line (``?since=``). Subjects
that are no longer as they were at the mark are told first; the others need not be asked for again.

However many pages listen, one coordinator looks at the database once in ``LOOK_EVERY``; while nobody listens, not at
all.
"""

import asyncio
from collections.abc import Hashable, Mapping
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Query, WebSocket
from starlette.websockets import WebSocketDisconnect

from orth.clock import Clock
from orth.coordinator.http.callers import Caller, caller_of
from orth.coordinator.http.origins import check_origin
from orth.coordinator.http.problems import problem_of
from orth.coordinator.http.refused_callers import tell_refused
from orth.coordinator.http.tools import Tools
from orth.coordinator.signing import Signing
from orth.domain.access import Rights
from orth.errors import OrthError, Unauthenticated
from orth.store.database import Database
from orth.store.signs import PEOPLE, read_signs

sockets = APIRouter()

LOOK_EVERY = 0.5
BEAT_EVERY = 10.0
_CHECK_EVERY = 10.0
_STALLED_AFTER = 10.0
_UNAUTHENTICATED = 4401
_LONGEST_MARK = 500
_SESSION = "session"

Signs = Mapping[str, Hashable]


class Pulse:
    """The last signs of change, shared by all who ask at about the same time."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db, self._clock = db, clock
        self._signs: Signs = {}
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()

    async def signs(self) -> Signs:
        async with self._reading:
            if self._clock.monotonic() - self._read_at >= LOOK_EVERY:
                self._signs = await self._db.read(read_signs)
                self._read_at = self._clock.monotonic()
            return self._signs


def seen_by(rights: Rights, signs: Signs) -> Signs:
    """The signs for one who listens: their own rights in the place of everybody's."""
    own = (rights.everywhere, tuple(sorted(rights.in_groups.items())))
    return {subject: sign for subject, sign in signs.items() if subject != PEOPLE} | {_SESSION: own}


def differing(before: Signs, now: Signs) -> list[str]:
    """Subjects whose sign is another one."""
    return sorted(subject for subject, sign in now.items() if before.get(subject) != sign)


def marks(signs: Signs, signing: Signing) -> dict[str, str]:
    """The signs as a page may carry them: they can be compared, by every coordinator, and nothing else. They are small
    numbers of the whole installation, so a digest without a key would tell them to whoever tries a few.
    """
    return {subject: signing.change_mark(subject, repr(sign)) for subject, sign in signs.items()}


def mark_of(signs: Signs, signing: Signing) -> str:
    return ",".join(f"{subject}:{one}" for subject, one in sorted(marks(signs, signing).items()))


def changed_since(mark: str, signs: Signs, signing: Signing) -> list[str]:
    """Subjects that are not as they were at the mark; what it does not speak of may have changed."""
    before = dict(one.split(":", 1) for one in mark.split(",") if ":" in one)
    return differing(before, marks(signs, signing))


async def mark_now(pulse: Pulse, signing: Signing, rights: Rights) -> str | None:
    """A mark from before whatever is asked for next; None while the database is away."""
    try:
        return mark_of(seen_by(rights, await pulse.signs()), signing)
    except OrthError:
        return None


@sockets.websocket("/api/v1/changes")
async def changes(websocket: WebSocket, since: Annotated[str | None, Query(max_length=_LONGEST_MARK)] = None) -> None:
    """Tell where to look again, as long as the session is good; first, what changed since the mark ``since``."""
    tools: Tools = websocket.app.state.tools
    try:
        check_origin(websocket, tools.settings)
        caller = await caller_of(tools, websocket)
        place = tools.places.take(caller.identity, known=True)
    except OrthError as error:
        await tell_refused(tools, websocket, error)
        await websocket.send_denial_response(problem_of(error))
        return
    try:
        await websocket.accept()
        await _until_left(websocket, tools, caller, since)
    finally:
        tools.places.give_back(place)


async def _until_left(websocket: WebSocket, tools: Tools, caller: Caller, since: str | None) -> None:
    telling = asyncio.ensure_future(_tell(websocket, tools, caller, since))
    hearing = asyncio.ensure_future(_hear_nothing(websocket))
    try:
        await asyncio.wait((telling, hearing), return_when=asyncio.FIRST_COMPLETED)
    finally:
        telling.cancel()
        hearing.cancel()
        await asyncio.gather(telling, hearing, return_exceptions=True)


async def _hear_nothing(websocket: WebSocket) -> None:
    """Wait for the page to leave; what it says is not wanted."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        continue


async def _tell(websocket: WebSocket, tools: Tools, caller: Caller, since: str | None) -> None:
    pulse: Pulse = websocket.app.state.pulse
    shared: Signs | None = None
    signs: Signs | None = None
    told = checked = tools.clock.monotonic()
    with tools.held.held(caller.session_id) as over, suppress(TimeoutError, WebSocketDisconnect, RuntimeError):
        while True:
            now = tools.clock.monotonic()
            last, shared = shared, await _signs(pulse, tools, shared)
            others = last is not None and last.get(PEOPLE) != shared.get(PEOPLE)  # somebody's rights, perhaps theirs
            if over.is_set() or others or now - checked >= _CHECK_EVERY:
                checked = now
                still = await _still(websocket, tools, caller)
                if still is None:
                    await websocket.close(_UNAUTHENTICATED, "The session has ended.")
                    return
                caller = still
            before, signs = signs, seen_by(caller.rights, shared)
            subjects = _to_tell(before, signs, since, tools.signing)
            if subjects or now - told >= BEAT_EVERY:
                told = now
                message = {"type": "changed", "subjects": subjects} if subjects else {"type": "beat"}
                async with asyncio.timeout(_STALLED_AFTER):
                    await websocket.send_json(message)
            await tools.clock.sleep_unless(over, LOOK_EVERY)


def _to_tell(before: Signs | None, signs: Signs, since: str | None, signing: Signing) -> list[str]:
    if before is not None:
        return differing(before, signs)
    return [] if since is None else changed_since(since, signs, signing)


async def _signs(pulse: Pulse, tools: Tools, before: Signs | None) -> Signs:
    """The signs now, and whether sessions have ended; while the database is away, those before it went."""
    try:
        await tools.held.look(tools.db, tools.clock)
        return await pulse.signs()
    except OrthError:
        return before or {}


async def _still(websocket: WebSocket, tools: Tools, caller: Caller) -> Caller | None:
    """Who listens, with the rights they have now; None when the session is over."""
    try:
        now = await caller_of(tools, websocket)
    except Unauthenticated:
        return None
    except OrthError:
        return caller  # the database is away: the session was good a moment ago
    return now if now.name == caller.name else None
