"""Answers that go on for long, to somebody who may stop reading them."""

import asyncio

from starlette.types import Message, Send

STALLED_AFTER = 30.0
"""Seconds in which a reader has to take what was sent; one that does not is let go, and may come back."""


class Departed(Exception):
    """The reader takes nothing any more."""


def patiently(send: Send) -> Send:
    """``send``, but not for ever."""

    async def sending(message: Message) -> None:
        try:
            async with asyncio.timeout(STALLED_AFTER):
                await send(message)
        except TimeoutError:
            raise Departed from None

    return sending
