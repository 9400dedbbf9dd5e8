"""What the resources work with, handed to the application once."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from fastapi import Request

from orth.clock import Clock
from orth.cluster.election import Election
from orth.coordinator.callbacks import Callbacks
from orth.coordinator.registry import Registrations
from orth.coordinator.signing import Signing
from orth.errors import TooBusy
from orth.events import Events
from orth.loop import Loop
from orth.settings import Settings
from orth.store.database import Database
from orth.wire.executor_calls import ExecutorLink


class Gate:
    """Lets a few in at a time and a few more wait; whoever comes beyond that is told to come back later.

    Comparing one password takes 64 MiB and a good part of a second, on purpose: unbounded, strangers could fill the
    memory.
    """

    def __init__(self, at_once: int = 2, waiting: int = 30) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._limit = at_once + waiting
        self._inside = 0

    async def __aenter__(self) -> None:
        if self._inside >= self._limit:
            raise TooBusy("Too many sign-ins at the same time.", hint="Try again in a moment.")
        self._inside += 1
        try:
            await self._places.acquire()
        except BaseException:
            self._inside -= 1
            raise

    async def __aexit__(self, *_exc: object) -> None:
        self._inside -= 1
        self._places.release()


@dataclass(frozen=True, slots=True)
class Tools:
    """The parts of a coordinator its HTTP side needs."""

    db: Database
    clock: Clock
    events: Events
    settings: Settings
    election: Election
    callbacks: Callbacks
    registrations: Registrations
    link: ExecutorLink
    signing: Signing
    access_token: str
    planning: Sequence[Loop]
    """Loops to wake when a schedule changed."""
    dispatching: Sequence[Loop]
    """Loops to wake when an execution was opened."""
    logins: Gate = field(default_factory=Gate)


def tools_of(request: Request) -> Tools:
    tools: Tools = request.app.state.tools
    return tools
