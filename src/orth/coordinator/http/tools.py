"""What the resources work with, handed to the application once."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request

from orth.clock import Clock
from orth.cluster.election import Election
from orth.coordinator.callbacks import Callbacks
from orth.coordinator.registry import Registrations
from orth.coordinator.signing import Signing
from orth.events import Events
from orth.loop import Loop
from orth.settings import Settings
from orth.store.database import Database
from orth.wire.executor_calls import ExecutorLink


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


def tools_of(request: Request) -> Tools:
    tools: Tools = request.app.state.tools
    return tools
