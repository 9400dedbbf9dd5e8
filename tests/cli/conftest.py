"""What tests of commands share.

The commands are tested up to the call into the product: ``Recorder`` stands where the called function stands and keeps
what it was given. The functions themselves are tested where they live.
"""

import os
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from orth.cli.frame import orth
from orth.settings import Settings
from tests.coordinator.http.live import Site, prepared_database


class Recorder:
    """A function of the product that only remembers how it was called."""

    def __init__(self, result: object) -> None:
        self._result = result
        self.arguments: tuple[object, ...] = ()
        self.named: dict[str, object] = {}

    def __call__(self, *arguments: object, **named: object) -> object:
        self.arguments, self.named = arguments, named
        return self._result

    @property
    def settings(self) -> Settings:
        return next(argument for argument in self.arguments if isinstance(argument, Settings))


Stand = Callable[[str, str, object], Recorder]
Run = Callable[..., Result]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Stand:
    """``stand_in(module, function, result)``: a recorder in the place of a function of the product."""

    def place(module: str, function: str, result: object) -> Recorder:
        recorder = Recorder(result)
        standing = ModuleType(module)
        setattr(standing, function, recorder)
        monkeypatch.setitem(sys.modules, module, standing)
        return recorder

    return place


@pytest.fixture
def run(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("server", "--listen", …, ORTH_STORE__URL=…)`` in an empty directory, without settings from outside."""
    monkeypatch.chdir(str(tmp_path))
    for name in [name for name in os.environ if name.startswith("ORTH_")]:
        monkeypatch.delenv(name)

    def invoke(*arguments: str, typed: str | None = None, **environ: str) -> Result:
        return CliRunner().invoke(orth, arguments, input=typed, env=environ, prog_name="orth")

    return invoke


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(prepared_database(tmp_path_factory.mktemp("cli") / "orth.db")) as site:
        yield site
