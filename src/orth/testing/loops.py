"""Starting and stopping loops in every order."""

import asyncio

from orth.loop import Loop


async def stress_start_stop(loop: Loop, rounds: int = 20) -> None:
    """Start and stop ``loop`` many times: stop before start, twice, during the first turn, at once after the start.

    Raises ``TimeoutError`` when a stop does not end the loop.
    """
    loop.stop()
    for round_number in range(rounds):
        running = asyncio.create_task(loop.run())
        for _ in range(round_number % 5):
            await asyncio.sleep(0)  # noqa: TID251  # gives way, takes no time
        loop.stop()
        if round_number % 2:
            loop.stop()
        async with asyncio.timeout(10):
            await running
