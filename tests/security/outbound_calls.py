"""Every call that a process of ours makes to another machine, as far as that machine chooses the answer.

``CALLS`` are made against servers that answer without end. A module that opens connections and is in none of the two
tables is found by ``test_answers_without_end``: add its call here.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from urllib3.util import parse_url

from orth.apphost.first_jobs import AdminApi
from orth.apphost.trust import Web
from orth.cli.api_client import ApiClient
from orth.clock import SystemClock
from orth.coordinator.alarming.mail import MailSender, MailServer
from orth.coordinator.alarming.texts import trial_alarm
from orth.coordinator.alarming.webhook import WebhookSender
from orth.coordinator.signing_in.issuer import Issuer
from orth.doctor.asking import ask
from orth.executor import http_calls
from orth.lifecycle.client import RegistryApi
from orth.settings import Settings
from orth.settings.sections import SecuritySection
from orth.wire.answer_reader import left_of
from orth.wire.coordinator_calls import CoordinatorCalls
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.health_calls import HealthCalls
from orth.wire.key_calls import KeyCalls
from orth.wire.live_calls import live_line
from orth.wire.messages import Extension, LogRequest, RegistryRequest, RunRequest
from orth.wire.outbound import Outbound
from orth.wire.signatures import Signer
from orth.wire.watch_lines import WatchLines
from orth.wire.work_keys import new_work_key, work_key_of

PATIENCE = 3.0
"""Seconds the calls wait for an answer."""
OURS = frozenset(Extension)
TRIGGER = RunRequest(job_id=1, log_id=2, executor_handler="h")
ALARM = trial_alarm("nightly", 1_769_767_200_000)


async def _of_executors(url: str, call: Callable[[ExecutorCalls], Awaitable[object]]) -> object:
    async with ExecutorCalls(timeout=PATIENCE) as calls:
        return await call(calls)


async def _pages(calls: ExecutorCalls, url: str) -> None:
    async for _page in calls.log_pages(url, LogRequest(log_id=1), token="t"):
        pass


async def _health(url: str) -> object:
    async with HealthCalls(timeout=PATIENCE, connections=4) as calls:
        return await calls.ask(url, "/health")


async def _key(url: str) -> object:
    async with KeyCalls(Signer("node-1", SystemClock()), timeout=PATIENCE) as calls:
        return await calls.holding(url, work_key_of("token", new_work_key()), "incarnation")


async def _watch(url: str) -> object:
    ended = asyncio.Event()
    lines = WatchLines(token="t", clock=SystemClock(), timeout=PATIENCE, silence=8.0, ended=lambda *_: ended.set())
    try:
        return await lines.ask(url)
    finally:
        lines.close()


async def _webhook(url: str) -> object:
    sender = WebhookSender(lambda: 0, timeout=PATIENCE, outbound=Outbound(), ca_file=None)
    definition = {"url": url, "headers": {}, "preset": "generic", "secret": None, "template": {"a": "b"}}
    return await sender.send(definition, ALARM)


async def _issuer(url: str) -> object:
    settings = Settings(security=SecuritySection(oidc_issuer=url, oidc_client_id="orth"))
    return await Issuer().doors(settings, SystemClock())


def _coordinators(url: str) -> object:
    calls = CoordinatorCalls([url], "token", timeout=PATIENCE)
    return calls.register(RegistryRequest(registry_key="demo", registry_value="http://127.0.0.1:9"))


def _registry(url: str) -> object:
    return RegistryApi([url], "token", timeout=PATIENCE, clock=SystemClock()).orchestrators()


def _http_job(url: str) -> object:
    asked = http_calls._Asked("GET", parse_url(url), None, {})
    return http_calls._answer(asked, Outbound(), left_of(PATIENCE, SystemClock()))


def _command(url: str) -> object:
    with ApiClient(url, token="t") as client:
        return client.get("/api/v1/groups")


def _followed(url: str) -> object:
    with ApiClient(url, token="t") as client:
        return next(client.stream("/api/v1/groups"), None)


def _events(url: str) -> object:
    with live_line(url, headers={}, patience=PATIENCE) as line:
        return line


def mail_by(host: str, port: int) -> Awaitable[object]:
    sender = MailSender(lambda: 0, timeout=PATIENCE, outbound=Outbound(), ca_file=None)
    return sender.send(MailServer(host, port, "none", sender="a@example.test"), ("b@example.test",), ALARM)


def _mail(port: int) -> Awaitable[object]:
    return mail_by("127.0.0.1", port)


@dataclass(frozen=True)
class Outgoing:
    """A call, and the module that opens its connection."""

    module: str
    make: Callable[[str], Any]
    waits: bool = False
    """Whether it waits in a thread of its own, not in the event loop."""
    reads_on: bool = False
    """Whether it reads until its time is over, and keeps nothing."""
    any_size: bool = False
    """Whether a body of any size is what it is for."""


CALLS: Mapping[str, Outgoing] = {
    "run": Outgoing(
        "orth.wire.executor_calls", lambda url: _of_executors(url, lambda c: c.run(url, TRIGGER, token="t"))
    ),
    "runs": Outgoing(
        "orth.wire.executor_calls",
        lambda url: _of_executors(url, lambda c: c.run_all(url, [TRIGGER], token="t", extensions=OURS)),
    ),
    "beat": Outgoing("orth.wire.executor_calls", lambda url: _of_executors(url, lambda c: c.beat(url, token="t"))),
    "idle beat": Outgoing(
        "orth.wire.executor_calls", lambda url: _of_executors(url, lambda c: c.idle_beat(url, 1, token="t"))
    ),
    "kill": Outgoing("orth.wire.executor_calls", lambda url: _of_executors(url, lambda c: c.kill(url, 1, token="t"))),
    "log": Outgoing(
        "orth.wire.executor_calls",
        lambda url: _of_executors(url, lambda c: c.log(url, LogRequest(log_id=1), token="t")),
    ),
    "log pages": Outgoing("orth.wire.executor_calls", lambda url: _of_executors(url, lambda c: _pages(c, url))),
    "health of a service": Outgoing("orth.wire.health_calls", _health),
    "key of an executor": Outgoing("orth.wire.key_calls", _key),
    "watch line": Outgoing("orth.wire.watch_lines", _watch),
    "webhook": Outgoing("orth.coordinator.alarming.webhook", _webhook),
    "issuer": Outgoing("orth.coordinator.signing_in.issuer", _issuer),
    "coordinator": Outgoing("orth.wire.coordinator_calls", _coordinators, waits=True),
    "registry": Outgoing("orth.lifecycle.client", _registry, waits=True),
    "orth.http": Outgoing("orth.executor.http_calls", _http_job, waits=True),
    "command": Outgoing("orth.cli.api_client", _command, waits=True, any_size=True),
    "command that follows": Outgoing("orth.cli.api_client", _followed, waits=True, any_size=True),
    "live socket": Outgoing("orth.wire.live_calls", _events, waits=True, reads_on=True),
    "doctor": Outgoing("orth.doctor.asking", ask, waits=True),
    "orth up": Outgoing("orth.apphost.trust", lambda url: Web(None).answers(url), waits=True),
    "orth up's API": Outgoing(
        "orth.apphost.trust", lambda url: AdminApi(url, Web(None).pool).call("GET", "/"), waits=True
    ),
}

MAIL = Outgoing("orth.coordinator.alarming.mail", _mail)

NOT_CALLS: Mapping[str, str] = {
    "orth.wire.guarded": "opens the connections of the calls above",
    "orth.wire.bounded_http": "opens the connections of the calls above",
    "orth.wire.signed_http": "signs the calls above",
    "orth.wire.outbound": "opens the connection of mail",
    "orth.cli.events": "follows the live socket",
    "orth.doctor.origins": "opens the live socket",
    "orth.doctor.certificates": "makes a TLS handshake and reads nothing",
    "orth.executor.settings": "connects a datagram socket, which sends nothing, to learn its own address",
    "orth.coordinator.supervisor": "asks the process that started it, over a socket in the file system",
    "orth.apphost.place": "tries whether somebody listens on a socket in the file system",
    "orth.apphost.first_jobs": "uses the pool of orth.apphost.trust",
    "orth.coordinator.alarming.apprise_urls": "starts the process that follows",
    "orth.coordinator.alarming.apprise_process": "is killed when its time is over: see tests/coordinator/alarming",
}
"""Modules that name a way to connect, and why no call of theirs is above."""


def source_modules(root: Path) -> Mapping[str, Path]:
    return {
        ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(root.rglob("*.py"))
    }
