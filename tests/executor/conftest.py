import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from orth.executor.handlers import Handlers
from tests.executor.bench import Ears, HandClock, Rig

MakeRig = Callable[..., Rig]


@pytest.fixture
def imports_undone() -> Iterator[None]:
    """What the test imports by way of its target is forgotten again."""
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def ears() -> Ears:
    return Ears()


@pytest.fixture
def app() -> Handlers:
    return Handlers("rig-app")


@pytest.fixture
def rig(app: Handlers, tmp_path: Path) -> Iterator[MakeRig]:
    """Make runtimes; what they hold is let go after the test, and handlers that wait for a word are told to leave: they
    would work on for as long as pytest does.
    """
    with ExitStack() as stack:

        def make(**settings: Any) -> Rig:
            made = Rig(app, tmp_path / "executor", **settings)
            stack.callback(made.runtime.close)
            stack.callback(made.call_off)
            return made

        yield make
