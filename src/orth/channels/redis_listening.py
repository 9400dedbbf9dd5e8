"""Hearing announcements through Redis, which tells whoever is connected at that moment.

A connection that broke, or that is silent and does not answer a ping, is made anew after a growing pause. What was told
meanwhile is gone, and the ear is told to doubt once it hears again: its owner must look everywhere *after* it can hear,
not before.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import TimeoutError as RedisTimeout

from orth.channels.audience import Ear
from orth.channels.interface import ChannelsUnavailable
from orth.channels.redis_client import FAILURES, failure_sentence
from orth.clock import Clock

_SILENCE = 5.0
_PATIENCE = 0.5
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0


class Line:
    """A connection that hears channels; ``told`` gets each message with the name of its channel."""

    def __init__(
        self, client: Redis, channels: Sequence[str], told: Callable[[str, Any], None], ear: Ear, clock: Clock
    ) -> None:
        self._client = client
        self._channels = channels
        self._told = told
        self._ear = ear
        self._clock = clock
        self._chance = random.Random()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Hear from here on; ``ChannelsUnavailable`` when Redis is away just now."""
        try:
            subscription = await self._subscribe()
        except FAILURES as error:
            raise ChannelsUnavailable(
                f"Redis cannot be listened to: {failure_sentence(self._client, error)}"
            ) from error
        hearing = asyncio.create_task(self._hear(subscription), name="redis-line")
        try:
            yield
        finally:
            while not hearing.done():  # the client may lose a cancellation while it connects
                hearing.cancel()
                await asyncio.wait([hearing], timeout=_PATIENCE)

    async def _hear(self, subscription: PubSub) -> None:
        while True:
            try:
                await self._follow(subscription)
            except Exception:  # whatever it was, this connection is of no use any more
                await _hang_up(subscription)
            except BaseException:
                await _hang_up(subscription)
                raise
            self._ear.lose()
            subscription = await self._subscribe_again()
            self._ear.doubt()

    async def _subscribe(self) -> PubSub:
        subscription = self._client.pubsub()
        try:
            await subscription.subscribe(*self._channels)
            for _ in self._channels:
                if await subscription.get_message(timeout=_SILENCE) is None:
                    raise RedisTimeout("no answer to a subscription")
        except BaseException:
            await _hang_up(subscription)
            raise
        return subscription

    async def _subscribe_again(self) -> PubSub:
        ceiling = _FIRST_PAUSE
        while True:
            await self._clock.sleep_unless(asyncio.Event(), self._chance.uniform(_FIRST_PAUSE / 2, ceiling))
            ceiling = min(ceiling * 2, _LONGEST_PAUSE)
            with suppress(Exception):
                return await self._subscribe()

    async def _follow(self, subscription: PubSub) -> None:
        """Pass on what comes until the connection breaks."""
        asked = False
        while True:
            message: Any = await subscription.get_message(timeout=_SILENCE)
            if message is None and asked:
                raise RedisTimeout("no answer to a ping")
            if message is None:
                await subscription.ping()
            elif message["type"] == "message":
                with suppress(ValueError, TypeError):  # somebody else's message on our channel
                    self._told(message["channel"], json.loads(message["data"]))
            asked = message is None


async def _hang_up(subscription: PubSub) -> None:
    with suppress(Exception):
        await subscription.aclose()  # type: ignore[no-untyped-call]
