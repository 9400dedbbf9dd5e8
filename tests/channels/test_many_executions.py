"""Thousands of open executions at once, each with its own boxes; ten thousand in the long form."""

import asyncio
import os

from orth.channels.interface import START, Channels
from orth.channels.names import Names

OPEN = 10_000 if os.environ.get("ORTH_TEST_FAULTS") == "long" else 2_000
AT_ONCE = 500


async def test_an_owner_follows_thousands_of_executions(channels: Channels, other: Channels) -> None:
    """Three reports of each and a piece of its log, from another node than that of the owner: all are read, in order,
    each from where the last reading ended, and nothing is left behind at the end.
    """
    names = Names()
    boxes = [names.status(number % 50, number) for number in range(OPEN)]
    logs = [names.logs(number % 50, number) for number in range(OPEN)]

    async def report() -> None:
        for seq, word in enumerate(("Accepted", "Running", "Completed"), start=1):
            for start in range(0, OPEN, AT_ONCE):
                some = boxes[start : start + AT_ONCE]
                said = {box: [{"seq": seq, "status": word}] for box in some}
                if word == "Running":
                    said |= {box: [{"seq": 1, "text": "a line\n"}] for box in logs[start : start + AT_ONCE]}
                await other.post(said)

    read: dict[str, list[int]] = {}
    positions: dict[str, str] = {}
    async with channels.news() as ear:
        reporting = asyncio.create_task(report())
        async with asyncio.timeout(120):
            while sum(map(len, read.values())) < 4 * OPEN:
                grown = {heard.topic: positions.get(heard.topic, START) for heard in await ear.next(5.0)}
                for box, entries in (await channels.read(grown, limit=100)).items():
                    positions[box] = entries[-1].position
                    read.setdefault(box, []).extend(entry.message["seq"] for entry in entries)
        await reporting
        assert ear.missed == 0
    assert {tuple(read[box]) for box in boxes} == {(1, 2, 3)}
    assert {tuple(read[box]) for box in logs} == {(1,)}
    everything = boxes + logs
    for start in range(0, len(everything), AT_ONCE):
        await channels.remove(everything[start : start + AT_ONCE])
    assert await channels.read(dict.fromkeys(everything[::50], START), limit=1) == {}
    assert await channels.clean(0.0) == 0
