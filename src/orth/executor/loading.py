"""From what was written on the command line to what it means.

``jobs.py``, ``pkg.jobs`` and ``jobs.py:app`` mean an executor; ``jobs.py:hello`` names a handler where one is wanted.
"""

import importlib
import importlib.util
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType

from orth.errors import CannotStart, OrthError
from orth.executor.handlers import Handler, Handlers

_PACKAGE = str(Path(__file__).parents[1]) + os.sep


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
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[path.stem]
        raise _broken(str(path), error) from error
    return module


def _module(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    return _imported(name)


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            raise CannotStart(f"There is no module {name}.", hint="A file needs its ending: jobs.py.") from None
        raise _broken(name, error) from error


def _broken(place: str, error: Exception | SystemExit) -> CannotStart:
    """The user's own error, with the place in their code; of code that cannot be read, the line as well."""
    if isinstance(error, OrthError):
        said = f"{place} cannot be loaded: {error.message.rstrip('.')}{_author_place(error)}."
        return CannotStart(said, hint=error.hint)
    message = f"{place} cannot be loaded: {traceback.format_exception_only(error)[-1].strip()}"
    if isinstance(error, SyntaxError) and error.lineno and error.text:
        return CannotStart(f"{message} ({error.filename}:{error.lineno}): {error.text.strip()}")
    where = _author_place(error)
    if isinstance(error, SystemExit):
        how = f"exits with code {error.code or 0}" if isinstance(error.code, int | None) else f"exits ({error.code})"
        return CannotStart(
            f"{place} {how} while it is loaded{where}.",
            hint='Put app.main() below if __name__ == "__main__".',
        )
    return CannotStart(f"{message}{where}.")


def _author_place(error: BaseException) -> str:
    """The author's line that led to the error, in brackets: a decorator rather than what Orth does in it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_machinery(frame.filename)]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""


def _is_machinery(filename: str) -> bool:
    """Whether the code belongs to Python's import or to Orth, rather than to the author."""
    return filename.startswith(("<frozen importlib", _PACKAGE)) or filename == importlib.__file__
