"""How many pages of logs are read at once."""

import asyncio

import pytest

from orth.coordinator.logs.read_places import ReadPlaces
from orth.errors import TooBusy


async def test_one_group_leaves_places_for_others() -> None:
    places, done, most = ReadPlaces(at_once=3, of_one_group=2, waiting=50), asyncio.Event(), [0, 0]

    async def read(app_name: str) -> None:
        async with places.place(app_name):
            most[0] += 1
            most[1] = max(most)
            await done.wait()
            most[0] -= 1

    readers = [asyncio.create_task(read("thief")) for _number in range(20)]
    await asyncio.sleep(0)
    assert most[0] == 2
    readers.append(asyncio.create_task(read("other")))
    await asyncio.sleep(0)
    assert most[0] == 3
    done.set()
    await asyncio.gather(*readers)
    assert most == [0, 3]


async def test_a_reader_too_many_is_refused_and_one_that_leaves_frees_its_place() -> None:
    places = ReadPlaces(at_once=1, of_one_group=1, waiting=1)
    async with places.place("a"):
        waiting = asyncio.create_task(places.place("a").__aenter__())
        await asyncio.sleep(0)
        with pytest.raises(TooBusy) as refused:
            await places.place("a").__aenter__()
        assert refused.value.code == "log_readers_full"
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with places.place("a"):
        pass
