"""What a process that runs for months asks of Python's garbage collector.

The collector stops the whole process while it looks for cycles, and what it looks at is mostly what was there when the
process started: modules, classes, functions, a few hundred thousand objects that never go away. Looking through them
took 200 ms every three seconds on a busy coordinator, and held triggers of executors started that much late. So what is
there once everything is imported is set aside, and new objects are looked through less often: nearly all of ours are
freed by counting references, without the collector.

Only processes of our own do so; an executor inside somebody else's program leaves its collector alone.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 10_000
_YOUNG_ROUNDS = 20
_MIDDLE_ROUNDS = 20


@contextmanager
def importing() -> Iterator[None]:
    """Import without the collector, which would look a hundred times through what never goes away, and set it aside."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def set_start_aside() -> None:
    """Never look again at what exists now, and at newer objects in longer intervals."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, _YOUNG_ROUNDS, _MIDDLE_ROUNDS)
