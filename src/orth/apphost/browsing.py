"""The way of a person's browser to the console."""

import asyncio
import os
import sys
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from orth.apphost.resources import LOOPBACK

_READ_WITHIN = 5.0


def open_console(url: str) -> str:
    """Open a browser where there is a desktop; a sentence about it. Browsers for terminals would draw over ours."""
    desktop = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if desktop and webbrowser.open(url):
        return f"opened {url}"
    return f"open {url} in a browser"


@asynccontextmanager
async def lead_on(port: int | None, url: str) -> AsyncIterator[None]:
    """Answer browsers on ``port`` with the way to the console; without a port, nothing."""
    if port is None:
        yield
        return
    answer = f"HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()

    async def point(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_READ_WITHIN):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(answer)
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(point, LOOPBACK, port):
        yield
