"""What this process takes of its machine."""

import os

from orth.clock import Clock
from orth.store.nodes import Load

_PAGE = os.sysconf("SC_PAGE_SIZE")


class LoadMeter:
    """Measures from one question to the next."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked_at = clock.monotonic()
        self._cpu = _cpu_seconds()
        self._millicores = 0

    def load(self, *, job_count: int, queued_count: int) -> Load:
        """The load of a node with so much to do."""
        now, cpu = self._clock.monotonic(), _cpu_seconds()
        if now > self._asked_at:
            self._millicores = round(1000 * (cpu - self._cpu) / (now - self._asked_at))
            self._asked_at, self._cpu = now, cpu
        return Load(job_count, queued_count, self._millicores, _resident_bytes())


def _cpu_seconds() -> float:
    spent = os.times()
    return spent.user + spent.system


def _resident_bytes() -> int:
    try:
        with open("/proc/self/statm") as pages:
            return int(pages.read().split()[1]) * _PAGE
    except OSError:  # no such file on this system
        return 0
