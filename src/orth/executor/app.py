"""What a job author writes: ``app = Executor("my-app")``, ``@app.job``, and ``app.main()`` at the end of the file."""

import logging
import os
import sys
from pathlib import Path

from orth.errors import BadSettings, OrthError
from orth.executor.handlers import Handlers
from orth.executor.process import serve
from orth.settings import load_settings

_LOG_LINE = "%(asctime)s.%(msecs)03d %(levelname)-5s %(name)s: %(message)s"


class Executor(Handlers):
    """An executor and its handlers. ``app_name`` is the group it belongs to, unless the settings name another."""

    def main(self) -> None:
        """Serve until stopped, then exit: what ``python jobs.py`` does. Settings come from orth.toml and ``ORTH_*``."""
        if not logging.getLogger().handlers:  # a program that has set up its logging keeps it
            logging.basicConfig(level=logging.INFO, format=_LOG_LINE, datefmt="%Y-%m-%d %H:%M:%S")
        try:
            code = serve(self, load_settings(environ=os.environ, cwd=Path.cwd()))
        except BadSettings as error:
            sys.stderr.writelines(f"orth: {problem}\n" for problem in error.problems)
            code = 2
        except OrthError as error:
            sys.stderr.write(f"orth: {error}\n")
            code = 1
        sys.exit(code)
