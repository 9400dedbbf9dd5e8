"""Where an exception from outside may strike a thread, and the blows that wait for such a place.

``ending`` raises an exception in the thread of a handler that is to end. It must not strike inside code that others
depend on: ``logging`` takes its lock one step before the ``try`` that gives it back, and an exception between the two
would leave the lock held. ``may_be_struck`` looks at a stack and decides.

A handler that does nothing but print or log is inside such code whenever it is looked at, because writing is where it
lets other threads run. Its blow is *put off*: what it prints, or logs, next raises instead of writing, in the author's
own step, before anything was taken. One blow strikes once, so a handler that cleans up can write about it.
"""

import logging
import selectors
import sys
import threading
from types import CodeType, FrameType

_SEALED = frozenset(
    (
        *("orth", "logging", "threading", "queue", "concurrent", "multiprocessing", "asyncio", "contextlib"),
        *("warnings", "weakref", "_weakrefset", "importlib", "_frozen_importlib", "_frozen_importlib_external"),
    )
)
"""Packages that must not be struck: they take locks in several steps, or everybody shares what they hold."""
_WAITING_ROOMS = frozenset(("threading", "queue", "concurrent"))
_WRITING_ROOMS = frozenset(("orth", "logging"))
_WAIT = threading.Condition.wait.__code__
_SELECT = selectors.DefaultSelector.select.__code__
_LOCKLESS: frozenset[CodeType] = frozenset(
    function.__code__
    for function in (
        *(logging.Logger.debug, logging.Logger.info, logging.Logger.warning, logging.Logger.error),
        *(logging.Logger._log, logging.Logger.findCaller, logging.Logger.makeRecord, logging.LogRecord.__init__),
        *(logging.Logger.handle, logging.Logger.callHandlers),
    )
)
"""The way of a record up to the first lock: a handler that does little but log can be met here."""

waiting: dict[int, type[BaseException]] = {}
"""Blows that were put off, by thread. Usually none: whoever writes looks here before calling ``take``."""


def may_be_struck(leaf: FrameType) -> bool:
    """Whether an exception raised in ``leaf`` harms nobody but the handler: where its author's code is innermost."""
    if leaf.f_code is _SELECT:
        return True  # an event loop that waits; it is left through its own ``finally``
    waits = leaf.f_code is _WAIT and "gotit" in leaf.f_locals  # inside the ``try`` that takes its lock back
    frame: FrameType | None = leaf
    while frame is not None:
        if is_theirs(frame):
            return True
        package = _package(frame)
        if package in _SEALED and frame.f_code not in _LOCKLESS and not (waits and package in _WAITING_ROOMS):
            return False
        frame = frame.f_back
    return False


def is_theirs(frame: FrameType) -> bool:
    """Whether it is code of the handler's author, or of a library that was installed for it."""
    package = _package(frame)
    return package != "orth" and package not in sys.stdlib_module_names


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def put_off(thread: int, blow: type[BaseException]) -> None:
    """Let ``thread`` be struck as soon as it writes."""
    waiting[thread] = blow


def take_back(thread: int) -> bool:
    """False when it has struck already."""
    return waiting.pop(thread, None) is not None


def take() -> None:
    """In the first step of writing, with no lock held but one that a ``finally`` gives back: raise what was put off."""
    thread = threading.get_ident()
    if thread in waiting and (author := _who_writes()) is not None and may_be_struck(author):
        blow = waiting.pop(thread, None)
        if blow is not None:
            raise blow


def _who_writes() -> FrameType | None:
    """The innermost frame that is neither ours nor that of ``logging``."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _package(frame) in _WRITING_ROOMS:
        frame = frame.f_back
    return frame
