"""Where the performer of a job is kept between its executions.

The threads of a job share one performer, so that a handler's ``init`` and ``destroy`` happen once, however many threads
execute. A job that is given another handler gets another performer; the one before is closed when nobody is on it any
more. A ``destroy`` that never ends must not hold up the job, so the job goes on in another thread than the one that
closes: if the thread that has called ``init`` comes to the next handler, it closes and another takes its place in the
job (``given_up_for``); else, as where executions of several threads end in any order, a thread is made to close it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from orth.executor.facts import DestroyFailed
from orth.executor.handlers import Handler
from orth.executor.one_process import OneProcess
from orth.executor.performers import Performer
from orth.executor.running import Tools


@dataclass(slots=True, eq=False)
class _Act:
    """A handler's performer and how many threads are on it."""

    handler: Handler
    performer: Performer
    first: threading.Thread = field(default_factory=threading.current_thread)
    users: int = 0
    leaving: threading.Thread | None = None
    """Closes the performer that was here before; whoever comes first lets it finish, if that does not take long."""

    @property
    def maker(self) -> threading.Thread:
        return self.performer.maker or self.first


class Stage:
    """The performer of one job. Threads that close one are kept in ``threads`` while they do."""

    def __init__(self, job_id: int, tools: Tools, threads: set[threading.Thread]) -> None:
        self._job_id = job_id
        self._tools = tools
        self._threads = threads
        self._lock = threading.Lock()
        self._act: _Act | None = None
        self._leaving: threading.Thread | None = None

    def given_up_for(self, handler: Handler) -> _Act | None:
        """What this thread has made for another handler, if nobody uses it any more: the caller has to close it. Until
        that has ended, if it does not take long, nobody enters.
        """
        with self._lock:
            act = self._act
            if act is None or act.handler is handler or act.users or act.maker is not threading.current_thread():
                return None
            self._act = None
            self._leaving = threading.current_thread()
            return act

    @property
    def begun_here(self) -> bool:
        """Whether this thread has called ``init``, so that it should be the one that closes."""
        act = self._act
        return act is not None and act.performer.maker is threading.current_thread()

    def take_back(self, act: _Act) -> None:
        """It was not closed after all."""
        with self._lock:
            self._act, self._leaving = act, None

    @contextmanager
    def entered(self, handler: Handler) -> Iterator[Performer]:
        """The performer of ``handler``: kept from the last execution, unless the job was given another since."""
        with self._lock:
            act = self._act
            if act is None or act.handler is not handler:
                replaced, act = act, _Act(handler, handler.performer())
                self._act, act.leaving, self._leaving = act, self._leaving, None
                if replaced is not None and not replaced.users:
                    act.leaving = self._close_beside(replaced)
            act.users += 1
        try:
            if (leaving := act.leaving) is not None:
                leaving.join(self._tools.kill_grace)
                act.leaving = None
            yield act.performer
        finally:
            with self._lock:
                act.users -= 1
                if act is not self._act and not act.users:  # of several users the last one closes it
                    self._close_beside(act)

    def close(self) -> None:
        """The job's threads are gone."""
        with self._lock:
            act, self._act = self._act, None
            if act is not None:
                act.users = 0  # who is still on it was left behind, and is not the last to leave
                self._close(act)

    def _close_beside(self, act: _Act) -> threading.Thread | None:
        name = f"orth-destroy-{self._job_id}-{act.handler.name}"
        thread = threading.Thread(target=self.see_off, args=(act,), name=name, daemon=True)
        self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError as error:
            self._threads.discard(thread)
            self._tools.events.emit(DestroyFailed(act.handler.name, f"there is no thread for it: {error}"))
            return None
        return thread

    def see_off(self, act: _Act) -> None:
        """Close it in this thread, which ends with that."""
        thread = threading.current_thread()
        self._tools.limits.after(self._tools.kill_grace, lambda: self._note_lingering(act, thread))
        self._close(act)
        self._threads.discard(threading.current_thread())

    def _note_lingering(self, act: _Act, thread: threading.Thread) -> None:
        if thread.is_alive():
            told = f"it did not end within {self._tools.kill_grace:g} s and goes on beside the job"
            self._tools.events.emit(DestroyFailed(act.handler.name, told))

    def _close(self, act: _Act) -> None:
        """Close a performer nobody will use again."""
        try:
            with OneProcess():
                act.performer.close()
        except BaseException as error:  # the handler's own code: whatever it raises, the thread goes on
            self._tools.events.emit(DestroyFailed(act.handler.name, repr(error)))
