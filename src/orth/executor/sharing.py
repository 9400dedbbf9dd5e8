"""What the executions of a job share and the first of them makes: an object after its ``init``, a loaded source.

Making it may take long, and is code of the author's. Meanwhile the others wait, and one that is ended leaves at once:
it neither makes nor uses anything afterwards. One that makes and is abandoned is not waited for: the next makes its
own, and what the other still brings is let go of. One that uses and is abandoned takes what it uses with it: those who
come later do not share it, and the last who leaves lets go of it. So what was made is let go of once, unless somebody
stays inside for ever.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from orth.executor.context import Cancelled, JobContext, before_execute

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Made(Generic[T]):
    what: T
    maker: threading.Thread = field(default_factory=threading.current_thread)
    users: set[int] = field(default_factory=set)
    """Executions that are inside, by log id."""


class Shared(Generic[T]):
    """Made by ``make`` when it is first needed; ``let_go`` is called with what nobody will use again."""

    def __init__(self, make: Callable[[JobContext], T], let_go: Callable[[T], None]) -> None:
        self._make = make
        self._let_go = let_go
        self._changed = threading.Condition()
        self._made: _Made[T] | None = None
        self._maker: JobContext | None = None

    @property
    def made(self) -> T | None:
        made = self._made
        return None if made is None else made.what

    @property
    def maker(self) -> threading.Thread | None:
        """The thread that has made what is shared now."""
        made = self._made
        return None if made is None else made.maker

    def begin(self, context: JobContext) -> T:
        """What is shared, made now if it is not there. ``Cancelled`` when the execution is ended meanwhile."""
        with self._changed:
            self._changed.wait_for(lambda: context.cancelled or self._made is not None or self._maker is None)
            context.checkpoint()
            if self._made is not None:
                return self._made.what
            self._maker = context
        return self._made_by(context)

    @contextmanager
    def entered(self, context: JobContext) -> Iterator[T]:
        """As ``begin``, for as long as it is used."""
        made = None
        while made is None:
            self.begin(context)
            with self._changed:
                made = self._made  # none if it was abandoned between these two steps, by somebody else
                if made is not None:
                    made.users.add(context.log_id)
        try:
            context.checkpoint()  # whoever ended it before it was a user has not taken this from the others
            yield made.what
        finally:
            with self._changed:
                made.users.discard(context.log_id)
                is_last = made is not self._made and not made.users
            if is_last:
                self._let_go_after(context, made.what)

    def wake(self) -> None:
        """An execution was ended: if it waits here, it leaves."""
        with self._changed:
            self._changed.notify_all()

    def abandon(self, context: JobContext) -> None:
        """Share nothing with this one any more, which was ended and is still inside."""
        with self._changed:
            if self._maker is context:
                self._maker = None
                self._changed.notify_all()
            elif self._made is not None and context.log_id in self._made.users:
                self._made = None

    def close(self) -> None:
        """Let go of it. Whoever is still inside was left behind, and shares nothing that is here."""
        with self._changed:
            made, self._made = self._made, None
        if made is not None:
            self._let_go(made.what)

    def _let_go_after(self, context: JobContext, what: T) -> None:
        """Its execution is over: how this goes changes nothing about the result."""
        try:
            self._let_go(what)
        except Exception as error:
            context.run_log.write(f"--- destroying what a left behind execution had used failed: {error!r}")

    def _made_by(self, context: JobContext) -> T:
        made: _Made[T] | None = None
        try:
            with before_execute():
                made = _Made(self._make(context))  # failing, it fails this execution; the next one makes it anew
        finally:
            with self._changed:
                is_ours = self._maker is context
                if is_ours:
                    self._maker, self._made = None, made
                    self._changed.notify_all()
        if not is_ours:
            self._let_go(made.what)
            raise Cancelled
        context.checkpoint()
        return made.what
