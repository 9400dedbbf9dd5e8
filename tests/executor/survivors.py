"""Looking for processes that should be gone, and letting an executor's loops run beside a test."""

import asyncio
import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from orth.executor.guard import descendants
from orth.loop import run_loops
from orth.wire.messages import CallbackItem
from tests.executor.bench import Rig, eventually

_numbers = itertools.count()


def new_mark() -> str:
    """Seconds to sleep that no other process of this machine sleeps: whoever has them on its command line is ours."""
    return f"{3000 + next(_numbers)}.{os.getpid()}"


def alive(mark: str) -> list[int]:
    """The processes that have ``mark`` on their command line, zombies left out."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if any(mark.encode() in word for word in words):
                    found.append(int(folder.name))
    return found


def nurseries_and_below() -> set[int]:
    """The nurseries of this process and whatever they have below; not what other tests may have started."""
    found: set[int] = set()
    for pid in descendants(os.getpid()):
        with suppress(OSError):
            if b"orth.executor.nursery" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found |= {pid} | descendants(pid)
    return found


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def outcome(rig: Rig, log_id: int) -> CallbackItem:
    """The result of an ended execution, delivered or not."""
    assert rig.runtime.join_idle(20)
    found = [item for item in [*rig.waiting().values(), *rig.desk.results] if item.log_id == log_id]
    return found[0]


@contextmanager
def turning(rig: Rig) -> Iterator[None]:
    """Run the loops of the runtime, so that time limits hold."""
    thread = threading.Thread(target=lambda: asyncio.run(run_loops(*rig.runtime.loops)))
    thread.start()
    eventually(lambda: all(loop._home is not None for loop in rig.runtime.loops))
    try:
        yield
    finally:
        for loop in rig.runtime.loops:
            loop.stop()
        thread.join()
