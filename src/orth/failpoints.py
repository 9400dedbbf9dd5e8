"""Named places where a test may crash or pause a process.

A walk is only proven when it has been cut at every step. Each step therefore names itself::

    if failpoints.armed:
        failpoints.hit("due.planned")

Off, which is always outside tests, this costs one attribute look-up. Points are armed per process, by
``ORTH_FAILPOINTS="due.planned=kill"`` in its environment, or in the same process by ``arm()``. The actions:

* ``kill`` ends the process with SIGKILL, as the kernel would: no handler runs, nothing is flushed;
* ``raise`` raises ``FailpointHit``;
* ``kill@3`` / ``raise@3`` does so at the third visit.

``POINTS`` lists every name with the place in the walk it stands for; hitting or arming a name not listed is an error,
so the list that tests iterate over cannot go stale.
"""

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass

POINTS: Mapping[str, str] = {
    "due.planned": "fires are decided, nothing is written",
    "due.written": "executions, ledger and schedule are written, not committed",
    "due.committed": "the plan is committed, nobody has been told",
    "dispatch.claimed": "an address is chosen and committed, nothing is sent",
    "dispatch.sent": "the executor has answered, the answer is not stored",
    "dispatch.recorded": "the answer is stored",
    "callbacks.received": "a result has arrived, nothing is stored",
    "finishing.written": "status and follow-ups are written, not committed",
    "callbacks.committed": "the result is committed, the executor has not been answered",
    "alarms.sent": "a receiver has answered, the answer is not stored",
}


class FailpointHit(Exception):
    """Raised at a point armed with ``raise``; not an ``OrthError``, because no code may expect it."""


@dataclass
class _Armed:
    action: str
    visits_left: int


armed: dict[str, _Armed] = {}


def arm(name: str, action: str) -> None:
    """Make the next visit of ``name`` (or the n-th, with ``action@n``) perform ``action``."""
    if name not in POINTS:
        raise ValueError(f"unknown failpoint {name!r}; known: {', '.join(POINTS)}")
    verb, _, nth = action.partition("@")
    if verb not in ("kill", "raise"):
        raise ValueError(f"unknown failpoint action {action!r}; known: kill, raise, kill@n, raise@n")
    armed[name] = _Armed(verb, int(nth or 1))


def disarm() -> None:
    armed.clear()


def arm_from(text: str) -> None:
    """Arm the points of an ``ORTH_FAILPOINTS`` value: ``name=action`` items separated by ``;``."""
    for item in filter(None, (part.strip() for part in text.split(";"))):
        name, _, action = item.partition("=")
        arm(name, action)


def hit(name: str) -> None:
    """Stand at ``name``; call it only where ``armed`` is not empty."""
    if name not in POINTS:
        raise ValueError(f"unknown failpoint {name!r}")
    point = armed.get(name)
    if point is None:
        return
    point.visits_left -= 1
    if point.visits_left > 0:
        return
    del armed[name]
    if point.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise FailpointHit(name)
