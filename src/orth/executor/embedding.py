"""An executor inside a program that has its own main thread, event loop and logging: ``app.start()``, ``app.stop()``.

Server and loops live in one background thread with an event loop of its own. The program's signals, event loop, loggers
and log handlers are never touched (``capture`` is none of them), and its standard streams are wrapped only if the
executor captures prints. A program that ends without ``stop`` ends the executor as a kill would: results on the disk
are delivered by the next start.
"""

import asyncio
import threading
from contextlib import ExitStack

from orth.executor.handlers import Handlers
from orth.executor.process import Prepared, prepared, serve_until
from orth.serving import event_loop
from orth.settings import Settings


class Embedded:
    """One executor in a thread, from its start to its stop."""

    def __init__(self, handlers: Handlers, settings: Settings) -> None:
        """Bind and open everything, start the thread and the helper processes; ``CannotStart`` says in one line what is
        wrong.
        """
        self._resources = ExitStack()
        ready = self._resources.enter_context(prepared(handlers, settings))
        self.address = ready.runtime.address
        self._up = threading.Event()
        self._home: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._crash: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(ready,), name="orth-executor", daemon=True)
        self._thread.start()
        try:
            self._up.wait()
        except BaseException:  # Ctrl+C: nobody will know this one to stop it
            self._ask_to_stop()
            raise
        if self._crash is not None:
            raise self._crash

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        """Stop in good order: take nothing more, let running executions end, deliver. Blocks meanwhile.

        What made the executor crash earlier, if anything did, is raised here.
        """
        self._ask_to_stop()
        self._thread.join()
        if self._crash is not None:
            raise self._crash

    def _ask_to_stop(self) -> None:
        if self._home is not None and self._stopping is not None and not self._home.is_closed():
            self._home.call_soon_threadsafe(self._stopping.set)

    def _run(self, ready: Prepared) -> None:
        try:
            with self._resources, event_loop() as runner:
                runner.run(self._serve(ready))
        except BaseException as crash:  # told by the events; raised again at the stop
            self._crash = crash
        finally:
            self._up.set()

    async def _serve(self, ready: Prepared) -> None:
        self._home, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        await serve_until(self._stopping, ready, embedded=True, started=self._up.set)
