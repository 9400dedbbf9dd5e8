"""What signing costs: the same requests to a real executor and a real coordinator, plain and signed, in turn.

Measured is processor time, of the caller and of the process that is called together: unlike the time on the clock it
hardly depends on what else the machine does. Plain and signed rounds alternate. A round of triggers includes that they
are run and their results reported. Exits with 1 when signed batches take more than the stated share longer::

    python bench/signatures.py            # the bar as stated
    python bench/signatures.py --quick    # few rounds, the bar raised for what so few can tell
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from _executor import TOKEN as EXECUTOR_TOKEN
from _executor import ExecutorProcess, executor_process
from _site import TOKEN, Site

from orth.clock import SystemClock
from orth.store.migrating import upgrade
from orth.wire.coordinator_calls import CoordinatorCalls
from orth.wire.credentials import Credential
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.messages import CallbackItem, RunRequest
from orth.wire.signatures import Key, Signer

BATCH = 500
REPEATED = 50
BAR, QUICK_BAR = 0.03, 0.5
MESSAGE = "done: 1,234 rows written, 5 skipped, nothing left to do for this part of the region"

Work = Callable[[bool], Awaitable[None]]
"""Makes a round of requests, signed or not."""
Spent = Callable[[], float]
"""Seconds of processor time so far, of both sides."""


class Known:
    """A coordinator's opinion of the executor of the benchmark."""

    def __init__(self, signed: bool) -> None:
        self._credential = Credential(EXECUTOR_TOKEN, signed, proves=signed)

    async def credential(self, address: str, app_name: str, receiver: str = "") -> Credential:  # noqa: ARG002  # there is one
        return self._credential

    async def another(self, address: str, app_name: str, receiver: str, refused: Key) -> None:  # noqa: ARG002  # none
        return None

    async def successor(self, address: str, app_name: str, receiver: str) -> None:  # noqa: ARG002  # none
        return None


def address_of(process: ExecutorProcess) -> str:
    return str(process.coordinator.executor)


def batches_of_triggers(process: ExecutorProcess, links: dict[bool, ExecutorCalls]) -> Work:
    async def work(signed: bool) -> None:
        extensions = frozenset({"batch-run"})
        requests = [RunRequest.model_validate(process.trigger(1 + number % 32)) for number in range(BATCH)]
        answers = await links[signed].run_all(address_of(process), requests, token="", extensions=extensions)
        assert all(answer is not None and answer.code == 200 for answer in answers)
        ids = {request.log_id for request in requests}
        await asyncio.to_thread(process.coordinator.wait, lambda: ids <= process.coordinator.arrived.keys())

    return work


def questions(process: ExecutorProcess, links: dict[bool, ExecutorCalls]) -> Work:
    """About an execution nobody has, with an extension, so that the connection is kept for the next one."""
    extensions = frozenset({"kill-execution"})

    async def work(signed: bool) -> None:
        for _ in range(REPEATED):
            assert (await links[signed].kill(address_of(process), 1, 10**9, token="", extensions=extensions)).ok

    return work


def results(links: dict[bool, CoordinatorCalls], count: int, repeated: int) -> Work:
    """Results of executions nobody knows: read, looked up and answered one by one."""
    items = [CallbackItem(log_id=10**9 + number, handle_code=200, handle_msg=MESSAGE) for number in range(count)]

    async def work(signed: bool) -> None:
        for _ in range(repeated):
            assert len(links[signed].call_back(items)) == count

    return work


async def compared(work: Work, spent: Spent, rounds: int, repeated: int) -> tuple[float, float]:
    """Milliseconds of processor time for a request, plain and signed."""
    for signed in (False, True):
        await work(signed)
    seconds = {False: 0.0, True: 0.0}
    for number in range(rounds):
        for signed in (number % 2 == 0, number % 2 == 1):
            before = spent()
            await work(signed)
            seconds[signed] += spent() - before
    return seconds[False] / rounds / repeated * 1000, seconds[True] / rounds / repeated * 1000


async def measure(process: ExecutorProcess, coordinator: "Called", rounds: int) -> dict[str, tuple[float, float]]:
    signer = Signer("bench", SystemClock())
    link = {
        signed: CoordinatorCalls([coordinator.url], TOKEN, 10.0, signer=signer if signed else None)
        for signed in (True, False)
    }
    executor = Called(address_of(process), process.popen.pid)
    async with (
        ExecutorCalls(timeout=10, credentials=Known(False)) as plain,
        ExecutorCalls(timeout=10, credentials=Known(True), signer=signer) as signing,
    ):
        links = {False: plain, True: signing}
        triggers, beats = batches_of_triggers(process, links), questions(process, links)
        return {
            f"{BATCH} triggers at once (/runs)": await compared(triggers, executor.spent, rounds, 1),
            "one question (/kill)": await compared(beats, executor.spent, rounds, REPEATED),
            f"{BATCH} results at once (callback)": await compared(
                results(link, BATCH, 5), coordinator.spent, rounds, 5
            ),
            "one result (callback)": await compared(results(link, 1, REPEATED), coordinator.spent, rounds, REPEATED),
        }


class Called:
    """A process that is called, and what it takes together with this one."""

    def __init__(self, url: str, pid: int) -> None:
        self.url = url
        self._threads = Path(f"/proc/{pid}/task")

    def spent(self) -> float:
        nanoseconds = 0
        for thread in self._threads.iterdir():
            with suppress(OSError):  # it has ended meanwhile
                nanoseconds += int((thread / "schedstat").read_text().split()[0])
        return nanoseconds / 1e9 + time.process_time()


@contextmanager
def coordinator_in(folder: Path) -> Iterator[Called]:
    """A coordinator on SQLite."""
    store = f"sqlite:///{folder / 'orth.db'}"
    upgrade(store)
    site = Site(folder, store)
    process = site.start("coordinator", site.port, ["server"])
    try:
        yield Called(f"http://127.0.0.1:{site.port}", process.pid)
    finally:
        process.terminate()
        process.wait(30)
        site.db.close()


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="few rounds, and the bar raised to 50 %%")
    quick = arguments.parse_args().quick
    bar = QUICK_BAR if quick else BAR
    with (
        tempfile.TemporaryDirectory() as folder,
        executor_process(ORTH_EXECUTOR__SHOW_TOKEN="true") as process,
        coordinator_in(Path(folder)) as coordinator,
    ):
        figures = asyncio.run(measure(process, coordinator, 4 if quick else 40))
    missed = False
    for what, (plain, signed) in figures.items():
        slower = signed / plain - 1
        missed |= "at once" in what and slower > bar
        print(f"{what:<36}plain {plain:>8.3f} ms   signed {signed:>8.3f} ms   {slower:>+7.1%}")
    print(f"bar: a batch takes at most {bar:.0%} more{'  MISSED' if missed else ''}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
