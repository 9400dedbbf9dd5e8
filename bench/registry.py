"""Ten thousand executors that beat every thirty seconds, against one real coordinator.

The addresses are real: some processes answer on them, a thousand addresses each (``_many_executors``). The beats come
over some hundred connections at the pace of so many executors, 333 a second. Then a thousand say good-bye at once, and
a thousand die at once, their process killed. Out of routing means: gone from the group's address list, or doubted by
the coordinator, which routing avoids. Exits with 1 when a beat is refused or a bound is missed::

    python bench/registry.py                    # SQLite and PostgreSQL, a minute each
    python bench/registry.py --quick            # a tenth of the executors, ten seconds, SQLite only
"""

import argparse
import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from _site import TOKEN, Site, wait_for
from tests.servers.postgres import PostgresServer
from tests.servers.processes import free_port

from orth.coordinator.defining import define_group
from orth.domain.jobs import AddressType, Group
from orth.store.groups import get_group
from orth.store.migrating import upgrade
from orth.store.reachability import list_doubts

APP = "many-executors"
BEAT = 30.0
CONNECTIONS = 500
OUT_WITHIN = 2.0
ANSWERED_WITHIN = 1.0
HANDLERS = [{"name": f"handler-{number}", "description": "does something"} for number in range(10)]
EXTENSIONS = ["resend", "verdicts", "kill-execution", "batch-run", "work-key"]


class Population:
    """The executors: their addresses, and the processes that answer on them, ``share`` addresses each."""

    def __init__(self, count: int, share: int) -> None:
        self.share = share
        self.addresses: list[str] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        for group in range(count // share):
            port = free_port()
            program = Path(__file__).with_name("_many_executors.py")
            self.processes.append(subprocess.Popen([sys.executable, str(program), str(port)]))
            hosts = (f"127.{10 + group}.{number // 250}.{1 + number % 250}" for number in range(share))
            self.addresses += [f"http://{host}:{port}" for host in hosts]

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def kill(self, group: int) -> list[str]:
        """End a process; the addresses of the executors that died with it."""
        self.processes[group].kill()
        self.processes[group].wait()
        return self.addresses[group * self.share : (group + 1) * self.share]


def request(path: str, address: str) -> bytes:
    said = {"incarnation": f"at {address}", "version": "1", "extensions": EXTENSIONS, "handlers": HANDLERS}
    said["load"] = {"running": 1, "queued": 0}
    body = json.dumps({"registryKey": APP, "registryValue": address, "orth": said}).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: bench\r\nORTH-ACCESS-TOKEN: {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def send(port: int, path: str, addresses: Sequence[str], pace: float = 0.0) -> list[float]:
    """Send one message for each address, ``pace`` a second or as fast as they are answered; the seconds until each
    answer. Written beforehand, so that this process takes as little as it can from the one that is measured.
    """
    messages = iter([request(path, address) for address in addresses])
    began = time.perf_counter()
    numbers = itertools.count()
    took: list[float] = []

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for message in messages:
            if pace:
                await asyncio.sleep(began + next(numbers) / pace - time.perf_counter())
            sent = time.perf_counter()
            writer.write(message)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split()[0])
            answer = await reader.readexactly(length)
            took.append(time.perf_counter() - sent)
            if not answer.startswith(b'{"code":200'):
                raise SystemExit(f"refused: {answer!r}")
        writer.close()

    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))
    return took


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def seconds_until(condition: Callable[[], bool], since: float, within: float) -> float:
    while not condition():
        if time.perf_counter() - since > within:
            return float("inf")
        time.sleep(0.02)
    return time.perf_counter() - since


@contextmanager
def coordinator(store: str) -> Iterator[tuple[Site, int]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if store == "PostgreSQL":
            url = stack.enter_context(PostgresServer(durable=True)).create_database()
        else:
            url = f"sqlite:///{folder}/orth.db"
        upgrade(url)
        site = Site(folder, url)
        stack.callback(site.db.close)
        process = site.start("coordinator", site.port, ["server"])
        stack.callback(process.wait, 60)
        stack.callback(process.terminate)
        yield site, process.pid


def measure(store: str, count: int, share: int, seconds: float) -> bool:
    """One round of everything on one kind of store; whether every bound was kept."""
    group = Group(0, APP, APP, AddressType.AUTO, ())
    with coordinator(store) as (site, pid), ExitStack() as stack:
        with site.db.engine.begin() as connection:
            group_id = define_group(connection, group, 0)
        executors = Population(count, share)
        stack.callback(executors.end)

        def listed() -> set[str]:
            with site.db.engine.begin() as connection:
                return set(get_group(connection, group_id).addresses)

        def doubted() -> set[str]:
            with site.db.engine.begin() as connection:
                return {doubt.address for doubt in list_doubts(connection)}

        print(f"{store}, {count} executors")
        alone = megabytes(pid)
        began = time.perf_counter()
        asyncio.run(send(site.port, "/api/registry", executors.addresses))
        line("all have joined", f"{time.perf_counter() - began:.1f} s")
        wait_for("every address is listed", lambda: len(listed()) == count)
        time.sleep(max(seconds / 2, count / 200))  # until the coordinator has opened its connections to them
        used, began = processor_seconds(pid), time.perf_counter()
        beats = [executors.addresses[number % count] for number in range(int(count / BEAT * seconds))]
        took = asyncio.run(send(site.port, "/api/registry", beats, pace=count / BEAT))
        lasted = time.perf_counter() - began
        share_of_a_core = (processor_seconds(pid) - used) / lasted
        late = percentile(took, 0.99)
        line(
            f"{len(beats) / lasted:.0f} beats/s: answered, p50 / p99 / most",
            f"{percentile(took, 0.5) * 1e3:.1f} / {late * 1e3:.1f} / {max(took) * 1e3:.0f} ms",
        )
        line("processor of the coordinator", f"{share_of_a_core:.0%} of a core")
        line("memory of the coordinator", f"{alone:.0f} MB alone, {megabytes(pid):.0f} MB with them")
        leaving = set(executors.addresses[-share:])
        began = time.perf_counter()
        asyncio.run(send(site.port, "/api/registryRemove", sorted(leaving)))
        left = seconds_until(lambda: not leaving & listed(), began, 60)
        line(f"{share} good-byes: out of the list after", f"{left:.2f} s")
        wrongly = len(doubted())
        began = time.perf_counter()
        dead = set(executors.kill(0))
        gone = seconds_until(lambda: dead <= doubted(), began, 60)
        line(f"{share} killed: out of routing after", f"{gone:.2f} s")
        line("doubted without reason", f"{wrongly}")
    return late <= ANSWERED_WITHIN and left <= OUT_WITHIN and gone <= OUT_WITHIN and not wrongly


def line(what: str, figure: str) -> None:
    print(f"  {what:<46}{figure}", flush=True)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="a tenth of the executors, on SQLite, for ten seconds")
    arguments.add_argument("--store", choices=("SQLite", "PostgreSQL"), help="only this one")
    given = arguments.parse_args()
    stores = [given.store] if given.store else ["SQLite"] if given.quick else ["SQLite", "PostgreSQL"]
    count, share, seconds = (1_000, 100, 10.0) if given.quick else (10_000, 1_000, 60.0)
    kept = [measure(store, count, share, seconds) for store in stores]
    print(
        f"bars: answered within {ANSWERED_WITHIN:g} s (p99), out of routing within {OUT_WITHIN:g} s"
        f"{'' if all(kept) else '  MISSED'}"
    )
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
