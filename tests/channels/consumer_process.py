"""A consumer in a process of its own, to be killed: takes, says what it has on standard output, and keeps it."""

import asyncio
import sys

from orth.channels.opening import open_channels
from orth.clock import SystemClock
from orth.events import Events
from orth.store.database import open_database


async def consume(url: str, store_url: str, queue: str, consumer: str, done: int) -> None:
    with open_database(store_url, size=2) as db:
        channels = open_channels(url, db, SystemClock(), Events())
        taken = await channels.take([queue], consumer, limit=100, wait=20.0)
        deliveries = taken[queue]
        await channels.done(queue, consumer, [delivery.id for delivery in deliveries[:done]])
        print(len(deliveries), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(consume(*sys.argv[1:5], int(sys.argv[5])))
