"""Asks the API once a second what the table cannot know by itself: who leads, who owns and runs what, who beats."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from orth.apphost.first_jobs import AdminApi
from orth.apphost.snapshot import NodeSeen, Sight
from orth.clock import Clock
from orth.errors import OrthError
from orth.events import Events
from orth.loop import Loop

_PAUSE = 1.0
_MOST_SHOWN = 200


class Looking(Loop):
    """Keeps ``sight`` up to date while anybody answers."""

    def __init__(
        self, connect: Callable[[str], AdminApi], urls: Callable[[], Sequence[str]], clock: Clock, events: Events
    ) -> None:
        """``urls`` says whom to ask, the likeliest first; ``connect`` signs in to one of them."""
        super().__init__(clock, events)
        self.sight = Sight()
        self._connect = connect
        self._urls = urls
        self._api: tuple[str, AdminApi] | None = None

    async def turn(self) -> float:
        for url in self._urls():
            with suppress(OrthError):
                self.sight = await asyncio.to_thread(self._look, url)
                return _PAUSE
            self._api = None
        return _PAUSE

    def _look(self, url: str) -> Sight:
        if self._api is None or self._api[0] != url:
            self._api = (url, self._connect(url))
        return look(self._api[1], self.clock.now())


def look(api: AdminApi, now: int) -> Sight:
    """One look through the API."""
    cluster = api.call("GET", "/api/v1/cluster")
    executors = api.call("GET", f"/api/v1/executors?limit={_MOST_SHOWN}")["items"]
    executions = api.call("GET", f"/api/v1/executions?status=pending&limit={_MOST_SHOWN}")["items"]
    beats = {one["address"].rstrip("/"): _age(one["last_beat"], now) for one in executors}
    services = _services(api)
    for one in services[0] + services[1] if services else ():
        if one.get("beatAge") is not None:
            beats[str(one["url"]).rstrip("/")] = float(one["beatAge"])
    return Sight(
        nodes={one["id"]: _node(one) for one in cluster["nodes"]},
        beats=beats,
        work=_work(one for one in executions if _has_begun(one, now)),
        services=(len(services[0]), len(services[1])) if services else None,
    )


def _services(api: AdminApi) -> tuple[list[Any], list[Any]] | None:
    try:
        return api.call("GET", "/api/orchestrators"), api.call("GET", "/api/agents")
    except OrthError:
        return None


def _node(one: Mapping[str, Any]) -> NodeSeen:
    return NodeSeen(one["role"] == "leader", one["state"], one["owned"], one["beat_age"])


def _age(instant: str, now: int) -> float:
    return max(0.0, now / 1000 - datetime.fromisoformat(instant).timestamp())


def _has_begun(one: Mapping[str, Any], now: int) -> bool:
    """Whether it is due: fires are sent a few seconds ahead, and wait at the executor."""
    due = one["schedule_time"]
    return due is None or datetime.fromisoformat(due).timestamp() * 1000 <= now


def _work(executions: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """What each executor has in hand, the oldest first: lists are newest first."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in reversed([*executions]):
        if one["executor_address"]:
            found[one["executor_address"].rstrip("/")].append(one["executor_handler"])
    return dict(found)
