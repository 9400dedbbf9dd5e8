"""What goes on in a worker beside the execution it carries out: threads, and processes below it or orphaned by it.

A worker is used again and again, so whatever an execution leaves running would write to the log of the next one and
outlive its own end. After each execution the worker therefore looks who is there beyond those that belong to it. The
usual answer, nobody, costs one call of the kernel and one small file.
"""

import os
import threading

from orth.executor.guard import process_tree

Company = frozenset[threading.Thread | int]
"""Threads, and processes by their id."""


class ResidentThread(threading.Thread):
    """A thread of ours that belongs to no single execution and stays."""


def company() -> Company:
    """Who is in this worker or below it, its own thread and residents left out."""
    me = threading.current_thread()
    threads = [it for it in threading.enumerate() if it is not me and not isinstance(it, ResidentThread)]
    return frozenset(threads) | (frozenset() if _alone() else _processes())


def in_words(left: Company) -> str:
    """``1 thread and 2 processes``; empty when there is nobody."""
    processes = sum(isinstance(one, int) for one in left)
    counts = ((len(left) - processes, "thread", "threads"), (processes, "process", "processes"))
    return " and ".join(f"{count} {one if count == 1 else many}" for count, one, many in counts if count)


def _alone() -> bool:
    """Whether there is surely no other process, exited ones included. Orphans are below the guard, our parent."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        guard = os.getppid()
        try:
            with open(f"/proc/{guard}/task/{guard}/children", "rb") as file:
                return file.read().split() == [b"%d" % os.getpid()]
        except OSError:  # a kernel that does not tell
            return False
    return False


def _processes() -> Company:
    tree = process_tree()
    return frozenset({*tree.get(os.getpid(), ()), *tree.get(os.getppid(), ())} - {os.getpid()})
