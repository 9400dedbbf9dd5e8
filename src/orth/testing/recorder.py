"""Hears every fact, so that tests wait for what happened and never sleep."""

import asyncio
from typing import TypeVar

from orth.events import Event, Events

F = TypeVar("F", bound=Event)


class Recorder:
    """A listener that keeps what it hears."""

    def __init__(self, events: Events | None = None) -> None:
        self.heard: list[Event] = []
        self._news = asyncio.Event()
        if events is not None:
            events.listen(self)

    def __call__(self, event: Event) -> None:
        self.heard.append(event)
        self._news.set()

    def all(self, kind: type[F], **facts: object) -> list[F]:
        """Everything heard of this kind with these facts, in order."""
        return [
            event
            for event in self.heard
            if isinstance(event, kind) and all(getattr(event, name) == value for name, value in facts.items())
        ]

    async def seen(self, kind: type[F], *, within: float = 10.0, **facts: object) -> F:
        """The first fact of this kind with these facts, as soon as it has been told; ``TimeoutError`` if it is not."""
        async with asyncio.timeout(within):
            while True:
                found = self.all(kind, **facts)
                if found:
                    return found[0]
                self._news.clear()
                await self._news.wait()
