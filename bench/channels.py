"""Ten thousand open executions: from what an executor posts to what the owner has read.

Every execution has its two boxes, status and logs, and keeps them. Another process posts, a status and a piece of log
each time, at a steady pace over all of them; the owner hears the news, reads what is new from where it stopped, and
says how old it was. Exits with 1 when something is lost or the bar is missed, 0.5 s for 99 of 100 messages::

    python bench/channels.py                # Redis and PostgreSQL, half a minute each
    python bench/channels.py --quick        # a tenth of the executions, five seconds
"""

import argparse
import asyncio
import multiprocessing
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

from orth.channels.interface import START, Channels
from orth.channels.names import Names
from orth.channels.opening import open_channels
from orth.clock import SystemClock
from orth.events import Events
from orth.store.database import open_database
from orth.store.migrating import upgrade

NAMES = Names()
TOGETHER = 10
ROOM = 500
BAR = 0.5
LINE = "2026-01-30 10:00:00.000 a line of a log as long as they usually are, with a number or two in it: 4711\n"


def opened(url: str, store: str, stack: ExitStack) -> Channels:
    db = stack.enter_context(open_database(store, size=4))
    return open_channels(url, db, SystemClock(), Events())


def boxes(execution: int) -> tuple[str, str]:
    return NAMES.status(7, execution), NAMES.logs(7, execution)


def post_all(url: str, store: str, executions: int, pace: int, seconds: float) -> None:
    """The executors: one message into every box at first, then at the given pace."""

    async def post() -> None:
        with ExitStack() as stack:
            channels = opened(url, store, stack)
            for first in range(0, executions, ROOM):
                some = range(first, min(first + ROOM, executions))
                await channels.post({box: [{"seq": 1, "text": LINE}] for one in some for box in boxes(one)})
            began, count = time.monotonic(), 0
            while count < pace * seconds:
                await asyncio.sleep(max(0.0, began + count / pace - time.monotonic()))
                some = [(count + number) * 7919 % executions for number in range(TOGETHER)]
                message = {"sent": time.time(), "text": LINE}
                await channels.post({box: [message] for one in some for box in boxes(one)})
                count += TOGETHER
            await channels.close()

    asyncio.run(post())


async def follow(channels: Channels, executions: int, expected: int, give_up: float) -> tuple[int, list[float]]:
    """The owner: everything that is in the boxes, in order, and how old the later messages were when it had them."""
    after = {box: START for one in range(executions) for box in boxes(one)}
    seen, ages = 0, []
    async with channels.news() as news:
        deadline = time.monotonic() + give_up
        while seen < expected and time.monotonic() < deadline:
            missed = news.missed
            grown: Sequence[str] = [str(heard.message["box"]) for heard in await news.next(1.0)]
            if news.missed > missed:
                grown = list(after)
            for first in range(0, len(grown), ROOM):
                found = await channels.read({box: after[box] for box in grown[first : first + ROOM]}, limit=100)
                now = time.time()
                for box, entries in found.items():
                    after[box] = entries[-1].position
                    seen += len(entries)
                    ages += [now - entry.message["sent"] for entry in entries if "sent" in entry.message]
    return seen, ages


async def measure(kind: str, url: str, store: str, executions: int, pace: int, seconds: float) -> bool:
    with ExitStack() as stack:
        channels = opened(url, store, stack)
        expected = 2 * (executions + int(pace * seconds))
        work = multiprocessing.get_context("spawn").Process(
            target=post_all, args=(url, store, executions, pace, seconds)
        )
        following = asyncio.create_task(follow(channels, executions, expected, 60 + 3 * seconds))
        await asyncio.sleep(0.5)  # until it listens
        work.start()
        before = time.process_time()
        seen, ages = await following
        burnt = time.process_time() - before
        work.join()
        await channels.remove([box for one in range(executions) for box in boxes(one)])
        await channels.close()
    ages.sort()
    middle, late = (ages[int(len(ages) * part)] * 1000 for part in (0.5, 0.99))
    print(
        f"{kind:>10}: {2 * executions:,} boxes, {2 * pace:,} messages/s: p50 {middle:.0f} ms, p99 {late:.0f} ms, "
        f"{burnt / seen * 1e6:.0f} µs of the owner's CPU for each; {seen:,} of {expected:,} read"
    )
    return seen == expected and late <= BAR * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the executions, five seconds")
    quick = parser.parse_args().quick
    executions, pace, seconds = (1_000, 300, 5.0) if quick else (10_000, 500, 30.0)
    with RedisServer() as redis, PostgresServer() as postgres:
        store = postgres.create_database()
        upgrade(store)
        good = [
            asyncio.run(measure(kind, url, store, executions, pace, seconds))
            for kind, url in (("redis", redis.create_database()), ("postgresql", "database://"))
        ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
