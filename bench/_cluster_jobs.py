"""The handlers of ``cluster``. Each notes when it starts and when it returns, in a file of its executor."""

import heapq
import os
import threading
import time
from pathlib import Path

from orth import Executor, JobContext

app = Executor("bench-cluster")
_record = os.open(os.environ["BENCH_RECORD"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def _note(event: bytes, ctx: JobContext) -> None:
    os.write(_record, b"%s %d %d\n" % (event, ctx.log_id, time.time_ns()))


@app.job("pause")
def pause(ctx: JobContext) -> None:
    """Take as many seconds as the parameter says."""
    _note(b"start", ctx)
    time.sleep(float(ctx.param))
    _note(b"end", ctx)


@app.job("gated")
def gated(ctx: JobContext) -> None:
    """Stay until the gate lets the number pass that is the parameter."""
    _note(b"start", ctx)
    _gate.wait(int(ctx.param))
    _note(b"end", ctx)


class Gate:
    """Lets executions pass in the order of their numbers, at a pace. One thread wakes the others one by one: thousands
    that looked for themselves would leave nothing of the machine to measure.

    Its file holds a number, an instant (s) and a pace: what is below the number passes, and so many more each second.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, int, threading.Lock]] = []
        self._keeper: threading.Thread | None = None

    def wait(self, number: int) -> None:
        closed = threading.Lock()
        closed.acquire()
        with self._lock:
            heapq.heappush(self._waiting, (number, id(closed), closed))
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, daemon=True)
                self._keeper.start()
        closed.acquire()

    def _keep(self) -> None:
        while True:
            if self._file.exists():
                first, began, pace = map(float, self._file.read_text().split())
                self._let_pass(first + max(0.0, time.time() - began) * pace)
            time.sleep(0.01)

    def _let_pass(self, below: float) -> None:
        with self._lock:
            while self._waiting and self._waiting[0][0] < below:
                heapq.heappop(self._waiting)[-1].release()


_gate = Gate(Path(os.environ["BENCH_GATE"]))
