"""From what was written on the command line to what it means.

``jobs.py``, ``pkg.jobs`` and ``jobs.py:app`` mean an executor; ``jobs.py:hello`` names a handler where one is wanted.
"""

import importlib
import importlib.util
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType

from pydantic import ValidationError

from orth.errors import CannotStart, OrthError
from orth.executor.handlers import Handler, Handlers

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_STDLIB = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib"))
_INSTALLED = {"site-packages", "dist-packages"}
GUARD = 'Put app.main() below if __name__ == "__main__".'
_LINK = "For further information visit "
_loading: ContextVar[bool] = ContextVar("loading", default=False)


def is_loading() -> bool:
    """Whether this code runs because a file or module with jobs is being imported."""
    return _loading.get()


def load_handlers(target: str) -> Handlers:
    """Import ``target`` and find the one ``Executor`` in it; ``CannotStart`` says in one line why there is none."""
    place, _, name = target.partition(":")
    return _handlers_of(_loaded(place), place, name)


def load_same_handlers(target: str, file: str) -> Handlers:
    """Import ``target`` as the process has it that gave us its ``sys.path``: from ``file``, if that is not empty."""
    place, _, name = target.partition(":")
    module = _executed(Path(place)) if _looks_like_file(place) else _imported(place)
    here = getattr(module, "__file__", None) or ""
    if file and os.path.realpath(here) != os.path.realpath(file):
        raise CannotStart(
            f"Worker processes import {place} from {here or 'no file'}, and the executor has it from {file}.",
            hint="Rename one of the two.",
        )
    return _handlers_of(module, place, name)


def _handlers_of(module: ModuleType, place: str, name: str) -> Handlers:
    if name:
        return _named(module, name, place)
    found = _executors(module, place)
    if len(found) > 1:
        names = ", ".join(sorted(key for key, value in vars(module).items() if isinstance(value, Handlers)))
        raise CannotStart(f"There are several Executors in {place}: {names}.", hint=f"Name one: {place}:NAME.")
    return found[0]


def load_handler(target: str) -> Handler:
    """Import ``target`` and find the handler it names, in whichever ``Executor`` of it."""
    place, _, name = target.partition(":")
    executors = _executors(_loaded(place), place)
    names = sorted(known for executor in executors for known in executor.names())
    listed = f"It has {', '.join(names) or 'none'}."
    if not name:
        raise CannotStart(f"Which handler of {place} is to run?", hint=f"Write {place}:NAME. {listed}")
    found = next((handler for executor in executors if (handler := executor.find(name))), None)
    if found is None:
        raise CannotStart(f"There is no handler {name} in {place}.", hint=listed)
    return found


def _loaded(place: str) -> ModuleType:
    return _module_of_file(Path(place)) if _looks_like_file(place) else _module(place)


def _executors(module: ModuleType, place: str) -> list[Handlers]:
    """The executors of a module, each once."""
    found = {id(value): value for value in vars(module).values() if isinstance(value, Handlers)}
    if not found:
        raise CannotStart(f"There is no Executor in {place}.", hint='Write app = Executor("my-app") in it.')
    return list(found.values())


def _named(module: ModuleType, name: str, place: str) -> Handlers:
    value = getattr(module, name, None)
    if not isinstance(value, Handlers):
        raise CannotStart(f"{name} in {place} is not an Executor.")
    return value


def _looks_like_file(place: str) -> bool:
    return place.endswith(".py") or "/" in place


def _module_of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise CannotStart(f"There is no file {path}.")
    # As for a script, what lies beside the file can be imported by it.
    sys.path.insert(0, str(path.parent.resolve()))
    return _executed(path)


def _executed(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise CannotStart(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        with _author_code(str(path)):
            spec.loader.exec_module(module)
    except CannotStart:
        del sys.modules[path.stem]
        raise
    return module


def _module(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    return _imported(name)


def _imported(name: str) -> ModuleType:
    with _author_code(name):
        return importlib.import_module(name)


@contextmanager
def _author_code(place: str) -> Iterator[None]:
    """Run the author's code. Whatever it raises becomes one sentence about ``place``."""
    token = _loading.set(True)
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if _is_itself_missing(place, error):
            raise CannotStart(f"There is no module {place}.", hint="A file needs its ending: jobs.py.") from None
        raise _broken(place, error) from error
    finally:
        _loading.reset(token)


def _is_itself_missing(place: str, error: BaseException) -> bool:
    """Whether the module that was asked for is the one that is not there, rather than one that it imports."""
    if _looks_like_file(place) or not isinstance(error, ModuleNotFoundError) or not error.name:
        return False
    return f"{place}.".startswith(f"{error.name}.")


def _broken(place: str, error: BaseException) -> CannotStart:
    """The user's own error, with the place in their code; of code that cannot be read, the line as well."""
    if isinstance(error, OrthError):
        said = f"{place} cannot be loaded: {error.message.rstrip('.')}{_author_place(error)}."
        return CannotStart(said, hint=error.hint)
    message = f"{place} cannot be loaded: {_in_one_line(error)}"
    if isinstance(error, SyntaxError) and error.lineno and error.text:
        return CannotStart(f"{message} ({error.filename}:{error.lineno}): {error.text.strip()}")
    where = _author_place(error)
    if isinstance(error, SystemExit):
        how = f"exits with code {error.code or 0}" if isinstance(error.code, int | None) else f"exits ({error.code})"
        return CannotStart(
            f"{place} {how} while it is loaded{where}.",
            hint=GUARD,
        )
    return CannotStart(f"{message}{where}.")


def _in_one_line(error: BaseException) -> str:
    """Class and message, without the pages of a library and without what was given: it may be a secret."""
    if isinstance(error, ValidationError):
        found = error.errors(include_url=False, include_input=False, include_context=False)
        said = "; ".join(": ".join([".".join(map(str, one["loc"])) or error.title, one["msg"]]) for one in found)
        return f"{type(error).__name__}: {error.title}: {said}"
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    lines = traceback.format_exception_only(error)[0].splitlines()  # notes follow
    return " ".join(line.strip() for line in lines if line.strip() and not line.strip().startswith(_LINK)).rstrip(".")


def _author_place(error: BaseException) -> str:
    """The author's line that led to the error, in brackets: neither a line of Orth nor one of a library."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_machinery(frame.filename)]
    if not frames:
        return ""
    own = [frame for frame in frames if not _is_library(frame.filename)]
    # Jobs may be installed themselves: then the first frame is in their package.
    home = os.path.dirname(frames[0].filename)
    last = (own or [frame for frame in frames if os.path.dirname(frame.filename) == home])[-1]
    return f" ({last.filename}:{last.lineno})"


def _is_machinery(filename: str) -> bool:
    """Whether the code belongs to Python's import or to Orth, or was generated, rather than written by the author."""
    return filename.startswith(("<", _PACKAGE)) or filename == importlib.__file__


def _is_library(filename: str) -> bool:
    """Whether the code was installed, rather than written by the author."""
    return filename.startswith(_STDLIB) or not _INSTALLED.isdisjoint(Path(filename).parts)
