"""Compact responses of the admin API: 304 where the caller has the content already, gzip where that is smaller.

Both are decided on the finished answer to a GET, which was made for this caller and with this caller's rights. The ETag
is a hash of that answer, so it matches only where the caller would receive the same bytes again: one caller's tag tells
another nothing and gives nothing away. An answer that a route gave an ETag of its own, the version for ``If-Match``,
keeps it, and is never answered with 304: such an answer also holds what changes without a new version.

Compression beside a secret can tell an eavesdropper something about the secret (BREACH), if the eavesdropper also
chooses part of the answer and has it sent often. Therefore three rules hold. Answers that hold credentials are marked
``no-store`` and are never compressed, nor is an answer to anything but a GET. Requests that a browser sends for another
site's page are not answered with gzip. And the length of every compressed answer is blurred by up to ``PADDING`` random
bytes, in the header field of gzip that holds a file's name.

The executor API, event streams, downloads and WebSockets are passed on untouched.
"""

import asyncio
import gzip
import hashlib
import random

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SMALLEST = 500
"""Bytes from which an answer is compressed."""
PADDING = 100
"""Most random bytes that blur the length of a compressed answer."""
_LARGEST_HERE = 64 * 1024
"""Bytes above which a thread compresses: this many take half a millisecond, 600 kB take six."""
_LEVEL = 6
_PATHS = ("/api/v1/", "/api/openapi.json")
_FNAME = 8
"""The flag of gzip's header that a file name follows (RFC 1952)."""
_VARY = "Accept-Encoding, Authorization, Cookie"
_CHOOSE = random.SystemRandom()


def tag_of(content: bytes) -> str:
    """A weak ETag: the compressed answer has the same one."""
    return f'W/"{hashlib.blake2b(content, digest_size=16).hexdigest()}"'


def is_current(if_none_match: str, tag: str) -> bool:
    """Whether one of the tags the caller has is this one, or it takes any."""
    known = {one.strip().removeprefix("W/") for one in if_none_match.split(",")}
    return "*" in known or tag.removeprefix("W/") in known


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether the caller reads gzip: named with a weight above 0, or covered by ``*``."""
    weights: dict[str, float] = {}
    for one in accept_encoding.split(","):
        name, _, rest = one.partition(";")
        weights[name.strip().lower()] = _weight(rest)
    return weights.get("gzip", weights.get("*", 0.0)) > 0


def compress(content: bytes, padding: bytes) -> bytes:
    """``content`` as gzip, with ``padding`` where the name of a file may stand; it holds no zero byte."""
    packed = gzip.compress(content, _LEVEL, mtime=0)
    head = bytearray(packed[:10])
    head[3] = _FNAME
    return bytes(head) + padding + b"\0" + packed[10:]


class CompactResponses:
    """Middleware around the routes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or not scope["path"].startswith(_PATHS):
            await self._app(scope, receive, send)
            return
        asked = Headers(scope=scope)
        start: Message | None = None

        async def compact(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_whole_answer(message):
                start = message  # what follows says whether it is sent in one piece
                return
            if start is not None:
                begun, start = start, None
                if message["type"] == "http.response.body" and not message.get("more_body", False):
                    message = {**message, "body": await _settle(begun, message.get("body", b""), asked)}
                await send(begun)
            await send(message)

        await self._app(scope, receive, compact)


def _is_whole_answer(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    kind = headers.get("content-type", "").partition(";")[0].strip()
    is_kept = "no-store" not in headers.get("cache-control", "")
    return bool(start["status"] == 200) and kind == "application/json" and is_kept and "content-encoding" not in headers


async def _settle(start: Message, content: bytes, asked: Headers) -> bytes:
    """The body to send; ``start`` is changed to fit."""
    headers = MutableHeaders(raw=start["headers"])
    headers.add_vary_header(_VARY)
    headers.setdefault("Cache-Control", "private, no-cache")
    if "etag" not in headers:
        headers["ETag"] = tag_of(content)
        if is_current(asked.get("if-none-match", ""), headers["ETag"]):
            start["status"] = 304
            del headers["Content-Length"], headers["Content-Type"]
            return b""
    if len(content) >= SMALLEST and _is_asked_for(asked):
        content = await _compressed(content)
        headers["Content-Encoding"] = "gzip"
        headers["Content-Length"] = str(len(content))
    return content


def _is_asked_for(asked: Headers) -> bool:
    """Browsers say for which page they ask; everybody else is nobody's unwitting tool."""
    by_own_page = asked.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    return by_own_page and accepts_gzip(asked.get("accept-encoding", ""))


async def _compressed(content: bytes) -> bytes:
    padding = b"x" * _CHOOSE.randint(0, PADDING)
    if len(content) > _LARGEST_HERE:
        return await asyncio.to_thread(compress, content, padding)
    return compress(content, padding)


def _weight(parameters: str) -> float:
    name, _, value = parameters.partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0
