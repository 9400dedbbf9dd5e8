"""The way out as a POST of JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
from yarl import URL

from orth.coordinator.alarming.outbound import NotDelivered, trusted
from orth.coordinator.alarming.templates import ANSWER_CODES, PRESETS, dingtalk_query, feishu_members, fill
from orth.coordinator.alarming.texts import Alarm
from orth.wire.guarded import guarded_connector
from orth.wire.network_reasons import network_reason
from orth.wire.outbound import Outbound

_ANSWER_LIMIT = 64 * 1024
_QUOTED = 200
_BODY_LIMIT = 1_048_576


class WebhookSender:
    """Sends webhooks. Each on a connection of its own: they are few, and receivers are strangers."""

    def __init__(self, now: Callable[[], int], *, timeout: float, outbound: Outbound, ca_file: Path | None) -> None:
        self._now = now
        self._timeout = timeout
        self._outbound = outbound
        self._ca_file = ca_file

    async def send(self, definition: dict[str, Any], alarm: Alarm) -> str:
        """Send one and give the answer of the receiver in short."""
        url, body = request_of(definition, alarm, self._now())
        headers = {
            **definition["headers"],
            "Content-Type": "application/json",
            "Orth-Message-Id": alarm.message_id,
            "User-Agent": "orth",
        }
        try:
            status, answer = await self._post(url, body, headers)
        except aiohttp.ClientConnectorError as error:
            raise NotDelivered.of("no_connection", said=f"the receiver {network_reason(error)}") from error
        except TimeoutError as error:
            raise NotDelivered.of("no_answer_within", seconds=f"{self._timeout:g}") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NotDelivered.of("no_answer", said=f"the receiver {network_reason(error)}") from error
        return judged(definition["preset"], status, answer)

    async def _post(self, url: URL, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        self._outbound.check_host(url.host or "")
        connector = guarded_connector(self._outbound, tls=trusted(self._ca_file), force_close=True)
        async with (
            aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=self._timeout),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
            ) as session,
            # A redirect would lead to where nobody looked.
            session.post(url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            return response.status, await response.content.read(_ANSWER_LIMIT)


def request_of(definition: dict[str, Any], alarm: Alarm, now: int) -> tuple[URL, bytes]:
    """Where it goes and what is sent."""
    preset, secret = definition["preset"], definition["secret"]
    own_shape = definition["template"] is not None
    body = fill(definition["template"], alarm.facts()) if own_shape else PRESETS[preset](alarm)
    url = definition["url"]
    if secret and preset == "dingtalk":
        url += ("&" if "?" in url else "?") + dingtalk_query(secret, now)
    if secret and preset == "feishu" and isinstance(body, dict):
        body = {**feishu_members(secret, now), **body}
    written = json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")
    if len(written) > _BODY_LIMIT:
        raise NotDelivered.of("message_too_large", size=len(written), limit=_BODY_LIMIT)
    return URL(url, encoded=True), written


def judged(preset: str, status: int, answer: bytes) -> str:
    """The receiver's answer, if it is a yes."""
    said = answer.decode("utf-8", "replace").strip()
    quoted = f"HTTP {status}" + (f": {said[:_QUOTED]}" if said else "")
    if not 200 <= status < 300:
        raise NotDelivered.of("receiver_answered", said=quoted)
    member = ANSWER_CODES.get(preset)
    if member is not None:
        try:
            code = json.loads(said).get(member, 0)
        except (ValueError, AttributeError, RecursionError):
            code = 0
        if code != 0:
            raise NotDelivered.of("receiver_answered", said=quoted)
    return quoted
