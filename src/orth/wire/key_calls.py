"""Asking an address whether a process is there that has a certain work key.

``/health`` is asked, signed with that key and for that process alone. It answers everybody and counts nobody as turned
away, but only who proves a key of the process is told which process it is. What else there is answers without that, or
not at all.
"""

import errno
from collections.abc import Mapping
from enum import StrEnum
from ssl import SSLContext
from typing import Protocol

import aiohttp
from yarl import URL

from orth.errors import OrthError
from orth.wire.addresses import checked_address
from orth.wire.fields import HEALTH_VALUES, SMALL_BODY_LIMIT
from orth.wire.guarded import GuardedCalls
from orth.wire.outbound import Outbound
from orth.wire.signatures import RECEIVER_HEADER, Key, Signer, receiver_name
from orth.wire.strict_json import read_json

PATH = "/health"
_TRIES = 2
"""A process whose clock is wrong tells so, and is asked once more."""
_FAULTS = 500
_TOO_MANY = 429


class Holding(StrEnum):
    """Whether the process at an address has a key."""

    YES = "yes"
    NO = "no"  # nobody listens there, or somebody else answers
    UNKNOWN = "unknown"  # no answer, or one that anybody in between may have given


class KeyLink(Protocol):
    """The way to that answer."""

    async def holding(self, address: str, key: Key, incarnation: str) -> Holding: ...


class KeyCalls(GuardedCalls):
    """The same over HTTP; open it inside the event loop that uses it."""

    def __init__(
        self, signer: Signer, *, timeout: float, outbound: Outbound | None = None, tls: SSLContext | None = None
    ) -> None:
        super().__init__(outbound, tls, timeout)
        self._signer = signer

    async def holding(self, address: str, key: Key, incarnation: str) -> Holding:
        address, receiver = checked_address(address), receiver_name(incarnation)
        for _again in range(_TRIES):
            sent = self._signer.header(key, address, "GET", PATH, b"", receiver=receiver)
            try:
                status, body, told = await self._get(address, sent)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                nobody = isinstance(error, OSError) and error.errno == errno.ECONNREFUSED
                return Holding.NO if nobody else Holding.UNKNOWN
            found = judged(status, body, told, incarnation)
            if found is not Holding.NO or told.get(RECEIVER_HEADER) != receiver:
                return found
            if not self._signer.learns(address, sent, True, told, key):
                return found
        return Holding.NO

    async def _get(self, address: str, headers: Mapping[str, str]) -> tuple[int, bytes, Mapping[str, str]]:
        url = URL(address + PATH, encoded=True)
        async with self._session.get(url, headers=headers, allow_redirects=False) as response:
            return response.status, await response.content.read(SMALL_BODY_LIMIT), response.headers


def judged(status: int, body: bytes, told: Mapping[str, str], incarnation: str) -> Holding:
    """What an answer says of the process ``incarnation``. A fault may be a gateway's, unless it says which process."""
    try:
        said = read_json(body, SMALL_BODY_LIMIT, values=HEALTH_VALUES)
    except OrthError:
        said = None
    if isinstance(said, dict) and said.get("incarnation") == incarnation:
        return Holding.YES
    if RECEIVER_HEADER in told:
        return Holding.NO
    return Holding.UNKNOWN if status >= _FAULTS or status == _TOO_MANY else Holding.NO
