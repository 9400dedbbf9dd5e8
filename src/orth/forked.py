"""What a forked child of this process must let go of: the parent's port, locks, conversations and signals.

A handler may fork, by ``multiprocessing`` or by hand. The child then holds the same open files as its parent, and would
keep a port or a lock from the parent's successor; and a signal sent to the child alone would be told to the parent,
because both write to the same wake-up descriptor. Whoever opens such a thing says here how a child parts with it.

``subprocess`` is not concerned: our files are closed as another program begins.
"""

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

_HELD_BACK = frozenset({signal.SIGTERM, signal.SIGINT})

_partings: dict[object, Callable[[], None]] = {}
_before = threading.local()


def let_go_in_child(part: Callable[[], None]) -> Callable[[], None]:
    """Call ``part`` in every child that is forked from now on; the result takes that back.

    ``part`` runs in the child's only thread. It must not take a lock, which a thread left behind may have held.
    """
    key = object()
    _partings[key] = part

    def undo() -> None:
        _partings.pop(key, None)

    return undo


def _hold_signals_back() -> None:
    # One that reached the child before it has parted with the parent's wake-up descriptor would be the parent's.
    _before.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD_BACK) if _partings else None


def _let_signals_through() -> None:
    if _before.mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, _before.mask)


def _part() -> None:
    partings = list(_partings.values())
    _partings.clear()  # a child of the child has nothing left to let go of
    for part in partings:
        with suppress(Exception):  # it is closed already; and whoever forked must not be told of our affairs
            part()
    _let_signals_through()


os.register_at_fork(before=_hold_signals_back, after_in_parent=_let_signals_through, after_in_child=_part)
