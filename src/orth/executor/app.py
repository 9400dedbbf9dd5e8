"""What a job author writes: ``app = Executor("my-app")``, ``@app.job``, and ``app.main()`` at the end of the file."""

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from orth.errors import BadSettings, CannotStart, Invalid, OrthError
from orth.executor.author_commands import command_line
from orth.executor.embedding import Embedded
from orth.executor.handlers import Handlers
from orth.executor.loading import GUARD, is_loading
from orth.executor.process import serve
from orth.settings import Settings, load_settings

_LOG_LINE = "%(asctime)s.%(msecs)03d %(levelname)-5s %(name)s: %(message)s"


class Executor(Handlers):
    """An executor and its handlers. ``app_name`` is the group it belongs to, unless the settings name another."""

    _embedded: Embedded | None = None

    def main(self, arguments: Sequence[str] | None = None) -> None:
        """What ``python jobs.py`` does, then exit: serve until stopped, or a subcommand (``--help`` lists them).

        Settings come from orth.toml and ``ORTH_*``.
        """
        if is_loading():
            raise Invalid("app.main() runs while the file is loaded.", hint=GUARD)
        try:
            command_line(self, serve=self._serve).main(arguments)
        except BadSettings as error:
            sys.stderr.writelines(f"orth: {problem}\n" for problem in error.problems)
            sys.exit(2)
        except OrthError as error:
            sys.stderr.write(f"orth: {error}\n")
            sys.exit(1)

    def start(self, settings: Settings | None = None) -> str:
        """Run this executor in a background thread of the program; the URL under which coordinators reach it.

        Settings come from orth.toml and ``ORTH_*`` unless given.
        """
        if self._embedded is not None and self._embedded.alive:
            raise CannotStart("This executor has been started already.", hint="Call stop() before another start().")
        self._embedded = Embedded(self, settings or _found_settings())
        return self._embedded.address

    def stop(self) -> None:
        """End what ``start`` began, in good order: running executions end, results are delivered. Blocks meanwhile.

        Inside an event loop, ``await asyncio.to_thread(app.stop)`` keeps the loop going. Without a start it does
        nothing.
        """
        embedded, self._embedded = self._embedded, None
        if embedded is not None:
            embedded.stop()

    def _serve(self) -> NoReturn:
        if not logging.getLogger().handlers:  # a program that has set up its logging keeps it
            logging.basicConfig(level=logging.INFO, format=_LOG_LINE, datefmt="%Y-%m-%d %H:%M:%S")
        sys.exit(serve(self, _found_settings()))


def _found_settings() -> Settings:
    return load_settings(environ=os.environ, cwd=Path.cwd())
