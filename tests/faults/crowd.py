"""Many services and many listeners around a registry, for tests that take the registry or its database away.

Agents are the product's own client, all in one thread, each with an address that answers; coordinators and the
registry are real processes. Listeners are the product's own follower of the live socket.
"""

import asyncio
import random
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from orth.clock import SystemClock
from orth.domain.services import ServiceKind
from orth.events import Events
from orth.lifecycle.client import Registration, RegistryApi
from orth.lifecycle.line import RegistryLine
from orth.lifecycle.presence import Presence
from orth.lifecycle.settings import LifecycleSettings
from orth.loop import run_loops
from orth.testing.stores import prepare_store
from orth.wire.live_calls import follow, live_line
from tests.servers.processes import free_port
from tests.walk.processes import HTTP, TOKEN, Process, Site, eventually

HEADERS = {"ORTH-ACCESS-TOKEN": TOKEN}
BEARER = {"Authorization": f"Bearer {TOKEN}"}
NODES = ("node-1", "node-2", "node-3")
_HEALTHY = b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"status":"ok"}'


class Crowd:
    """``count`` agents. While ``restless``, one of them begins or ends some work every ``1 / pace`` seconds."""

    def __init__(self, count: int, registry: Sequence[str], heartbeat: float, pace: float) -> None:
        self.port = free_port()
        self.urls = [f"http://127.1.{number // 250}.{1 + number % 250}:{self.port}" for number in range(count)]
        self.restless = False
        self._busy = dict.fromkeys(self.urls, False)
        self._pace = pace
        self._rules = LifecycleSettings(registry=tuple(registry), settle=0.1, heartbeat=heartbeat)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), name="crowd", daemon=True)
        self._over = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._over.set()
        self._thread.join(30)

    async def _live(self) -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while (await reader.readline()).strip():
                pass
            writer.write(_HEALTHY)
            writer.close()

        server = await asyncio.start_server(answer, "0.0.0.0", self.port, backlog=1000)
        agents = [self._agent(number, url) for number, url in enumerate(self.urls, start=1)]
        async with server, asyncio.TaskGroup() as group:
            group.create_task(run_loops(*agents))
            group.create_task(self._stir())
            await asyncio.to_thread(self._over.wait)
            for agent in agents:
                agent.stop()

    def _agent(self, number: int, url: str) -> Presence:
        clock, events = SystemClock(), Events()
        api = RegistryApi(self._rules.registry, TOKEN, timeout=self._rules.timeout, clock=clock)
        me = Registration(ServiceKind.AGENT, url, f"incarnation-{number}", f"agent-{number}")
        line = RegistryLine(api, self._rules, clock, events)
        return Presence(line, me, self._rules, clock, events, busy=lambda: self._busy[url])

    async def _stir(self) -> None:
        chance = random.Random(7)
        while not self._over.is_set():
            await asyncio.sleep(1 / self._pace)
            if self.restless:
                url = chance.choice(self.urls)
                self._busy[url] = not self._busy[url]


class Ended(Exception):
    """Nobody listens any more."""


class Ear:
    """Somebody who follows the live socket of one process and notes the number of every event."""

    def __init__(self, url: str, since: int) -> None:
        self.url, self.since = url, since
        self.heard: list[int] = []
        self.breaks = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="ear", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """It ends when its line breaks next."""
        self._over.set()

    def missed(self, head: int) -> list[int]:
        """What it did not hear once, in order, up to ``head``."""
        wanted = list(range(self.since + 1, head + 1))
        return [] if self.heard[: len(wanted)] == wanted else sorted(set(wanted) ^ set(self.heard)) or self.heard

    def _listen(self) -> None:
        def opened(since: int | None) -> Any:
            return live_line(self.url, headers=BEARER, since=since)

        def broke(_error: Exception) -> None:
            self.breaks += 1
            if self._over.is_set():
                raise Ended

        def pause(_seconds: float) -> None:
            self._over.wait(0.2)

        with suppress(Ended):
            for message in follow(opened, self.since, pause=pause, broke=broke):
                self.heard.append(message.seq)


class Town:
    """A registry, three coordinators, agents and ears, on one database."""

    def __init__(self, folder: Path, store_url: str, *, agents: int, heartbeat: float, pace: float) -> None:
        self._store_url = store_url
        self.heartbeat = heartbeat
        beat = f"{round(heartbeat * 1000)}ms"
        self.site = Site(
            folder,
            store_url,
            ORTH_REGISTRY__HEARTBEAT=beat,
            ORTH_REGISTRY__DEAD_AFTER=f"{round(heartbeat * 3000)}ms",
            ORTH_EXECUTOR__HEARTBEAT=beat,
            ORTH_REGISTRY__SETTLE="100ms",
            ORTH_CLUSTER__LEASE="5s",
            ORTH_CLUSTER__LEASE_RENEW="1s",
        )
        self.ports = {name: free_port() for name in ("registry", *NODES)}
        self.registry: Process
        self.crowd = Crowd(agents, [self.url("registry")], heartbeat, pace)
        self.ears: list[Ear] = []
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            prepare_store(self._store_url)
            stack.enter_context(self.site)
            self.registry = self.start("registry", ready=False, ORTH_COORDINATOR__ROLES="registry")
            for name in NODES:
                self.start(name, ready=False)
            for process, name in zip(self.site.processes, self.ports, strict=True):
                ready = f"{self.url(name)}/health/ready"
                eventually(lambda process=process, ready=ready: Site.answers(process, ready), within=90, what=name)
            stack.enter_context(self.crowd)
            stack.callback(lambda: [ear.end() for ear in self.ears])
            self._open = stack.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._open.close()

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.ports[name]}"

    def start(self, name: str, *, ready: bool = True, **more: str) -> Process:
        own = {
            "ORTH_COORDINATOR__DATA_DIR": str(self.site.folder / name),
            "ORTH_REGISTRY__URL": self.url("registry"),
            **more,
        }
        return self.site.coordinator(name, port=self.ports[name], ready=ready, **own)

    def services(self, asking: str = NODES[0]) -> dict[str, dict[str, Any]]:
        """Every service by its URL, as one of the processes lists them; none while it cannot."""
        found: dict[str, dict[str, Any]] = {}
        for kind in ("orchestrators", "agents"):
            answer = HTTP.request("GET", f"{self.url(asking)}/api/{kind}", headers=HEADERS)
            if answer.status != 200:
                return {}
            found |= {one["url"]: one for one in answer.json()}
        return found

    def whole(self) -> dict[str, str]:
        """Wait until everybody has registered and is well; their ids by URL."""
        wanted = {*self.crowd.urls, *map(self.url, NODES)}

        def look() -> dict[str, str]:
            found = self.services()
            well = {url for url, one in found.items() if one["status"] in ("Running", "Idle", "Busy")}
            return {url: one["id"] for url, one in found.items()} if wanted <= well else {}

        return eventually(look, within=90, what="everybody registered")

    def listen(self, each: int) -> None:
        """So many ears at every process, from the newest event on."""
        since = self.head()
        self.ears = [Ear(self.url(name), since) for name in self.ports for _ in range(each)]

    def head(self) -> int:
        answer = HTTP.request("GET", f"{self.url(NODES[0])}/api/agents", headers=HEADERS)
        assert answer.status == 200, answer.data
        return int(answer.headers["ORTH-SEQ"])

    def back_within(self, ids: dict[str, str], take_away: Callable[[], None]) -> float:
        """Take something away and back; the seconds from its return until everybody has beaten, under the id it had."""
        take_away()
        returned = time.time()

        def look() -> bool:
            found = self.services("registry")
            beaten = {url for url, one in found.items() if _instant(one["lastHeartbeat"]) >= returned}
            well = {url for url in beaten if found[url]["status"] in ("Running", "Idle", "Busy")}
            assert {url: one["id"] for url, one in found.items()} == ids or not found, "somebody has another id"
            return well >= set(ids)

        eventually(look, within=4 * self.heartbeat + 30, what="everybody back")
        return time.time() - returned

    def lose_registry(self) -> None:
        """Kill the registry and start it again."""
        self.registry.end(signal.SIGKILL)
        time.sleep(self.heartbeat / 2)  # so that half of all beats find nobody
        self.registry = self.start("registry", ORTH_COORDINATOR__ROLES="registry")

    def check_ears(self) -> int:
        """Nobody has missed, doubled or swapped an event; how many there were for each."""
        self.crowd.restless = False
        time.sleep(2.5)  # the last changes are told by then: agents look once a second
        head = self.head()
        for ear in self.ears:
            eventually(lambda ear=ear: ear.heard[-1:] >= [head], what=f"the last event at {ear.url}")
            assert ear.missed(head) == [], ear.url
        return head - self.ears[0].since


def _instant(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
