"""What the attacks of the second security review cost a coordinator in memory: its peak, and what stays.

Starts a coordinator on a database of its own for each attack, attacks it in a bounded form, and prints the resident
memory before, at its peak and after. Everything is on loopback, and every attack ends by itself::

    python -m tests.security.memory_attacks               # all, in their long form
    python -m tests.security.memory_attacks --short logs  # one, in the form of ``make test``

Exits with 1 if a peak is above the limit, or if memory does not return.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.cli.running import environment
from tests.servers.processes import free_port

TOKEN = "token-of-the-memory-attacks"
PEAK = 400.0
"""MiB that a coordinator may have at its peak, in all."""
STAYS = 1.3
"""Of what it had before, afterwards."""
SETTLES_WITHIN = 30.0
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Target:
    """A coordinator, and what the attacker knows of it."""

    pid: int
    port: int
    scale: float
    bearer: str = ""
    executor_token: str = ""
    job: int = 0
    group: int = 0
    other_group: int = 0
    """One without executors, whose jobs may name any handler."""
    statuses: dict[int, int] = field(default_factory=dict)

    def many(self, count: int) -> int:
        return max(4, int(count * self.scale))

    @asynccontextmanager
    async def connected(self, number: int = 0) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        here = f"127.{1 + number // 60_000}.{number // 250 % 250}.{1 + number % 250}"
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(here, 0))
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    def head(self, method: str, path: str, length: int, **headers: str) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"Content-Length: {length}"]
        lines += ["Content-Type: application/json", "Accept-Encoding: identity"]
        return "\r\n".join([*lines, *(f"{name.replace('_', '-')}: {text}" for name, text in headers.items())]).encode()

    async def call(
        self, method: str, path: str, body: object = None, *, number: int = 0, kept: bool = True, **headers: str
    ) -> Answer:
        """One request; 0 when there was no answer. An answer that is not ``kept`` is read and thrown away."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        try:
            async with asyncio.timeout(120), self.connected(number) as (reader, writer):
                writer.write(self.head(method, path, len(data), Connection="close", **headers) + b"\r\n\r\n" + data)
                with suppress(ConnectionError):
                    await writer.drain()
                status = int((await reader.readline()).split()[1])
                while await reader.readline() not in (b"\r\n", b""):
                    pass
                parts = []
                while part := await reader.read(_MIB):
                    parts += [part] if kept else []
                answer = Answer(status, b"".join(parts))
        except (OSError, TimeoutError, IndexError):
            answer = Answer(0, b"")
        self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
        return answer

    async def known(self, method: str, path: str, body: object = None, **more: Any) -> Answer:
        return await self.call(method, path, body, Authorization=f"Bearer {self.bearer}", **more)

    async def executor(self, path: str, body: object, **more: Any) -> Answer:
        return await self.call("POST", path, body, ORTH_ACCESS_TOKEN=self.executor_token, **more)

    def memory(self, name: str = "VmRSS") -> float:
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(text.split(f"{name}:")[1].split()[0]) / 1024

    def forget_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")


async def together(count: int, one: Callable[[int], Awaitable[object]]) -> None:
    await asyncio.gather(*(one(number) for number in range(count)))


async def in_turns(count: int, one: Callable[[int], Awaitable[object]], *, at_once: int = 8) -> None:
    """Like ``together``, with few of them at any moment."""
    turns = asyncio.Semaphore(at_once)

    async def in_turn(number: int) -> None:
        async with turns:
            await one(number)

    await together(count, in_turn)


# --- the attacks ------------------------------------------------------------------------------------------------------


async def half_requests(target: Target) -> None:
    """Requests whose headers never end, from many addresses."""

    async def one(number: int) -> None:
        with suppress(OSError):
            async with target.connected(number) as (_reader, writer):
                writer.write(b"GET /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Filler: " + b"x" * 8000)
                await asyncio.sleep(4)

    await together(target.many(2000), one)


async def half_bodies(target: Target) -> None:
    """Bodies of strangers that lack their last byte, from many addresses."""
    size = 64 * 1024

    async def one(number: int) -> None:
        with suppress(OSError):
            async with target.connected(number) as (reader, writer):
                path = "/api/v1/auth/login" if number % 2 else "/api/registry"
                writer.write(target.head("POST", path, size) + b"\r\n\r\n" + b" " * (size - 1))
                with suppress(TimeoutError):
                    async with asyncio.timeout(6):
                        await reader.read()

    await together(target.many(4000), one)


async def half_results(target: Target) -> None:
    """Bodies of results that lack their last byte, with the token of one group."""
    size = 32 * _MIB

    async def one(number: int) -> None:
        with suppress(OSError):
            async with target.connected(number) as (reader, writer):
                token = {"ORTH-ACCESS-TOKEN": target.executor_token}
                writer.write(target.head("POST", "/api/callback", size, **token) + b"\r\n\r\n")
                with suppress(TimeoutError):
                    async with asyncio.timeout(10):
                        for _part in range(31):
                            writer.write(b" " * _MIB)
                            await writer.drain()
                        await reader.read()

    await together(target.many(100), one)


async def whole_results(target: Target) -> None:
    """Results of executions that do not exist, in bodies of many megabytes."""
    item = {"logId": 1, "logDateTim": 1, "handleCode": 200, "handleMsg": "m" * 20_000}
    body = json.dumps([{**item, "logId": number} for number in range(1500)]).encode()
    await together(target.many(30), lambda number: target.executor("/api/callback", body, number=number))


async def strange_json(target: Target) -> None:
    """Bodies of a megabyte with unknown members, and with lists of nothing."""
    members = json.dumps({f"k{number}": 1 for number in range(80_000)}).encode()
    empty = b"[" + b",".join([b"{}"] * 340_000) + b"]"

    async def one(number: int) -> None:
        body = empty if number % 3 == 0 else members
        path = ("/api/v1/schedules/preview", "/api/v1/jobs", "/api/v1/jobs/bulk/trigger")[number % 3]
        await target.known("POST", path, body, number=number)

    await together(target.many(150), one)


async def wide_results(target: Target) -> None:
    """Results without anything in them, as many as there may be and more, and results of very many values."""
    item = {"logDateTim": 1, "handleCode": 200, "handleMsg": ""}
    lists = [b"[" + b",".join([b"{}"] * count) + b"]" for count in (99_000, 20_000, 3_900, 240_000)]
    bodies = [
        *lists[:3],
        json.dumps([{"logId": number, **item} for number in range(20_000)]).encode(),
        b'[{"logId":1,"handleCode":200,"handleMsg":' + lists[3] + b"}]",
    ]
    await in_turns(
        target.many(300), lambda number: target.executor("/api/callback", bodies[number % len(bodies)], number=number)
    )
    assert 200 in target.statuses, "no callback was taken"


async def small_results(target: Target) -> None:
    """As many results as a body of 99 KB has, over many connections at once: none of the bodies is a large one."""
    item = '{"logId":%d,"logDateTim":1,"handleCode":200,"handleMsg":"x"}'
    body = f"[{','.join(item % number for number in range(1, 1591))}]".encode()
    await in_turns(target.many(1500), lambda number: target.executor("/api/callback", body, number=number), at_once=60)
    assert 200 in target.statuses, "no callback was taken"


async def boxes(target: Target) -> None:
    """Boxes of others, another number of them in each call: many more than there may be, and as many as there may."""
    names = [f'"orchestrix.job.{number}.status.{number}":""' for number in range(1, 48_001)]

    async def one(number: int) -> None:
        count = 48_000 - 37 * number % 20_000 if number % 4 == 0 else 1 + number % 256
        await target.executor(
            "/api/channels/read", f'{{"after":{{{",".join(names[:count])}}}}}'.encode(), number=number
        )

    await in_turns(target.many(800), one)
    assert 403 in target.statuses, "no box was looked up"


async def refused_bodies(target: Target) -> None:
    """Bodies as large as may be, of a caller who has used up its rate."""
    body = b'{"job_desc":"' + b"x" * (_MIB - 64) + b'"}'
    await in_turns(target.many(800), lambda number: target.known("POST", "/api/v1/jobs", body, number=number))
    assert 429 in target.statuses, "the caller did not use up its rate"


async def services(target: Target) -> None:
    """Agents at invented urls below the address of an executor."""
    beat = {"registryGroup": "EXECUTOR", "registryKey": "alpha", "registryValue": "http://127.0.0.1:1"}
    assert (await target.executor("/api/registry", beat)).status == 200
    count = target.many(1500)
    await together(
        count,
        lambda number: target.executor(
            "/api/agents/register", {"url": f"http://127.0.0.1:1/{number}", "name": "alpha"}, number=number
        ),
    )
    assert target.statuses[200] > count / 2, f"few agents were registered: {target.statuses}"


async def beats(target: Target) -> None:
    """Beats of invented addresses, each with a megabyte of handlers."""

    async def one(number: int) -> None:
        handlers = [{"name": f"h{number}-{place}", "description": "x" * 1900} for place in range(450)]
        said = {"incarnation": f"p{number}", "handlers": handlers}
        beat = {"registryGroup": "EXECUTOR", "registryKey": "alpha", "registryValue": f"http://127.0.0.1:1/{number}"}
        await target.executor("/api/registry", {**beat, "orth": said}, number=number)

    await together(target.many(200), one)


async def logs(target: Target) -> None:
    """The log of an execution at a hostile executor that sends pages as large as can be, read by many at once."""
    page = {"fromLineNum": 1, "toLineNum": 80_000, "logContent": ("l" * 55 + "\n") * 80_000, "isEnd": False}
    large = json.dumps({"code": 200, "msg": None, "content": page}).encode()
    async with hostile_executor(large) as port:
        beat = {"registryGroup": "EXECUTOR", "registryKey": "alpha", "registryValue": f"http://127.0.0.1:{port}"}
        await target.executor("/api/registry", beat)
        triggered = await target.known("POST", f"/api/v1/jobs/{target.job}/trigger", {})
        execution = triggered.json["execution_ids"][0]
        await asyncio.sleep(2)

        async def one(number: int) -> None:
            path = f"/api/v1/executions/{execution}/log"
            await target.known("GET", path if number % 2 else f"{path}/download", number=number, kept=False)

        await together(target.many(60), one)
        await target.executor("/api/registryRemove", beat)


@asynccontextmanager
async def hostile_executor(page: bytes) -> AsyncIterator[int]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, IndexError, ValueError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split()[1]
                lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                await reader.readexactly(int(lengths[0].split(b":")[1]) if lengths else 0)
                body = page if path.endswith(b"/log") else b'{"code":200,"msg":null,"content":null}'
                content = f"Content-Type: application/json\r\nContent-Length: {len(body)}".encode()
                writer.write(b"HTTP/1.1 200 OK\r\n" + content + b"\r\n\r\n" + body)
                await writer.drain()
        writer.transport.abort()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def searches(target: Target) -> None:
    """Expressions that take for ever, searched for in a log."""
    path = "/api/v1/executions/1/log/search?regex=true&q=(a%2B)%2B%24"
    await together(target.many(40), lambda number: target.known("GET", path, number=number))


async def lists(target: Target) -> None:
    """The largest page of jobs with long parameters, by many who do not read it."""

    async def one(number: int) -> None:
        with suppress(OSError):
            async with target.connected(number) as (reader, writer):
                head = target.head("GET", "/api/v1/jobs?limit=200", 0, Authorization=f"Bearer {target.bearer}")
                writer.write(head + b"\r\n\r\n")
                await reader.readline()
                await asyncio.sleep(6)

    await together(target.many(100), one)


async def triggers(target: Target) -> None:
    """Triggers with parameters as long as may be."""
    body = {"executor_param": "p" * 60_000}
    path = f"/api/v1/jobs/{target.job}/trigger"
    await together(target.many(400), lambda number: target.known("POST", path, body, number=number))


async def previews(target: Target) -> None:
    body = {"schedule_type": "CRON", "schedule_conf": "0 0 0 29 2 ?"}
    await together(
        target.many(300), lambda number: target.known("POST", "/api/v1/schedules/preview", body, number=number)
    )


async def imports(target: Target) -> None:
    """Definitions of many jobs in bodies as large as can be, many times at once, none of which is stored."""
    jobs = [
        job_of(target, number, job_desc=f"import {number}", job_group="beta", executor_param="p" * 9_000)
        for number in range(100)
    ]
    body = json.dumps({"jobs": jobs}).encode()
    await together(
        target.many(60),
        lambda number: target.known("POST", "/api/v1/jobs/definitions?dry_run=true", body, number=number),
    )


async def sockets(target: Target) -> None:
    """Sockets that say nothing, and sockets that follow everything and read nothing."""

    async def one(number: int) -> None:
        with suppress(OSError):
            async with target.connected(number) as (reader, writer):
                upgrade = {
                    "Upgrade": "websocket",
                    "Connection": "Upgrade",
                    "Sec_WebSocket_Version": "13",
                    "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
                }
                shown = {"Authorization": f"Bearer {target.bearer}"} if number % 2 else {}
                path = "/ws" if number % 4 < 2 else "/api/v1/changes"
                writer.write(target.head("GET", path, 0, **upgrade, **shown) + b"\r\n\r\n")
                await reader.readline()
                writer.write(b"\x81\xfe\xff\xff" + b"x" * 65_000)
                await asyncio.sleep(5)

    await together(target.many(600), one)


ATTACKS: Mapping[str, Callable[[Target], Awaitable[None]]] = {
    one.__name__: one
    for one in (
        half_requests,
        half_bodies,
        half_results,
        whole_results,
        wide_results,
        small_results,
        boxes,
        refused_bodies,
        strange_json,
        services,
        beats,
        logs,
        searches,
        lists,
        triggers,
        previews,
        imports,
        sockets,
    )
}


# --- the coordinator --------------------------------------------------------------------------------------------------


def job_of(target: Target, number: int, **fields: object) -> dict[str, Any]:
    return {"job_group": target.group, "job_desc": f"job {number}", "executor_handler": "h", **fields}


def start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    settings = {
        "ORTH_STORE__URL": f"sqlite:///{folder / 'orth.db'}",
        "ORTH_SECURITY__ACCESS_TOKEN": TOKEN,
        "ORTH_SECURITY__ADMIN_PASSWORD": TOKEN,
        "ORTH_COORDINATOR__LISTEN": f"127.0.0.1:{port}",
        "ORTH_COORDINATOR__DATA_DIR": str(folder / "coordinator"),
        "ORTH_COORDINATOR__SETTLE": "0s",
    }
    with (folder / "coordinator.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "orth", "server", "--log-level", "error"],
            cwd=folder,
            env=environment(**settings),
            stdout=log,
            stderr=log,
        )


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@asynccontextmanager
async def coordinator(folder: Path, scale: float) -> AsyncIterator[Target]:
    port = free_port()
    process = start(folder, port)
    try:
        target = Target(process.pid, port, scale)
        await _prepared(target)
        yield target
    finally:
        await asyncio.to_thread(end, process)


async def _prepared(target: Target) -> None:
    for _try in range(300):
        if (await target.call("GET", "/health/ready")).status == 200:
            break
        await asyncio.sleep(0.2)
    else:
        raise TimeoutError("the coordinator does not start")
    login = await target.call("POST", "/api/v1/auth/login", {"username": "admin", "password": TOKEN})
    target.bearer = login.json["access_token"]
    target.group = (await target.known("POST", "/api/v1/groups", {"app_name": "alpha", "title": "a"})).json["id"]
    beta = {"app_name": "beta", "title": "b"}
    target.other_group = (await target.known("POST", "/api/v1/groups", beta)).json["id"]
    body = {"kind": "executor", "name": "alpha", "app_names": ["alpha"]}
    target.executor_token = (await target.known("POST", "/api/v1/tokens", body)).json["token"]
    target.job = (await target.known("POST", "/api/v1/jobs", job_of(target, 0))).json["id"]
    long = {"job_group": target.other_group, "executor_param": "p" * 60_000}
    for number in range(100):
        made = await target.known("POST", "/api/v1/jobs", job_of(target, number, **long))
        assert made.status == 201, made.body
    # What is loaded and compiled when it is first used, and what the database keeps of itself in memory for each of
    # its connections, belongs to the memory before.
    paths = ("/api/v1/jobs?limit=200", "/api/v1/executions", "/api/v1/overview", "/api/openapi.json", "/metrics")
    for path in paths:
        await together(20, partial(_read_once, target, path))


async def _read_once(target: Target, path: str, _number: int) -> None:
    await target.known("GET", path, kept=False)


@dataclass(frozen=True, slots=True)
class Measured:
    """MiB of resident memory."""

    name: str
    before: float
    peak: float
    after: float
    statuses: Mapping[int, int]

    @property
    def is_good(self) -> bool:
        return self.peak <= PEAK and self.after <= self.before * STAYS

    def __str__(self) -> str:
        answers = ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items()))
        verdict = "" if self.is_good else "  TOO MUCH"
        return f"{self.name:14} {self.before:7.0f} {self.peak:7.0f} {self.after:7.0f}{verdict}   {answers}"


async def measured(target: Target, name: str) -> Measured:
    target.statuses.clear()
    target.forget_peak()
    before = target.memory()
    await ATTACKS[name](target)
    answers = dict(target.statuses)
    for _look in range(int(SETTLES_WITHIN * 2)):
        if target.memory() <= before * STAYS:
            break
        await asyncio.sleep(0.5)
    answered = await target.call("GET", "/health/ready")
    assert answered.status == 200, f"the coordinator does not answer after {name}"
    return Measured(name, before, target.memory("VmHWM"), target.memory(), answers)


async def attacked(name: str, scale: float) -> Measured:
    """One attack on a coordinator of its own."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        target = await stack.enter_async_context(coordinator(folder, scale))
        return await measured(target, name)


def allow_many_connections() -> None:
    """Let this process, and the coordinator that it starts, have as many descriptors as they may."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("attacks", nargs="*", choices=[[], *ATTACKS], help="which of them; all unless named")
    arguments.add_argument("--short", action="store_true", help="a fifth of each")
    said = arguments.parse_args()
    print(f"{'attack':14} {'before':>7} {'peak':>7} {'after':>7}   MiB, and the answers by status")
    allow_many_connections()
    found = []
    for name in said.attacks or ATTACKS:
        found.append(asyncio.run(attacked(name, 0.2 if said.short else 1.0)))
        print(found[-1], flush=True)
    return 0 if all(one.is_good for one in found) else 1


if __name__ == "__main__":
    os.environ.pop("ORTH_STORE__URL", None)
    sys.exit(main())
