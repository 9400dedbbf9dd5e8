"""Answers that take long or go on for long, to somebody who may leave meanwhile."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Send

STALLED_AFTER = 30.0
"""Seconds in which a reader has to take what was sent; one that does not is let go, and may come back."""

_LEFT = 499
"""Read by nobody but those who count answers."""

T = TypeVar("T")


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


async def unless_left(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """What ``work`` comes to; it is given up when the caller leaves, with all it holds. The request has been read."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_departure(request.receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Departed
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait((working, leaving))


async def answer_departed(_request: Request, _error: Exception) -> Response:
    """An answer for nobody."""
    return Response(status_code=_LEFT)


async def _departure(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
