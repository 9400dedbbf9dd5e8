"""The console has words for everything the audit can say that somebody did: found where the sources say it."""

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orth.coordinator.services.registrar import _ACTIONS
from orth.coordinator.supervisor import ProcessWish
from orth.domain.audit import AT_DOOR, TURNED_AWAY
from orth.domain.audit_chain import PURGE
from orth.store.nodes import Wish

ROOT = Path(__file__).parents[2]
TEXTS = json.loads((ROOT / "console/src/i18n/locales/en/admin.json").read_text())["audit"]["did"]

# What the sources do not write out where they say it.
_COMPUTED = {
    "AT_DOOR": {AT_DOOR},
    "TURNED_AWAY": {TURNED_AWAY},
    "PURGE": {PURGE},
    "_ACTIONS[type(said)]": set(_ACTIONS.values()),
    "f'cluster.{wish.value}'": {f"cluster.{wish.value}" for wish in Wish},
    "f'process.{wish.value}'": {f"process.{wish.value}" for wish in ProcessWish},
}


@dataclass(frozen=True, slots=True)
class Said:
    """A call, in the function it is in."""

    file: str
    function: ast.FunctionDef | ast.AsyncFunctionDef
    call: ast.Call

    @property
    def called(self) -> str:
        """The function that gets the arguments: a transaction passes them on to the first of them."""
        one: ast.expr = self.call.func
        if isinstance(one, ast.Attribute) and one.attr in ("tx", "read") and self.call.args:
            one = self.call.args[0]
        return _named(self.file, one.id if isinstance(one, ast.Name) else getattr(one, "attr", ""))

    @property
    def parameters(self) -> list[str]:
        return [one.arg for one in self.function.args.args]


def _named(file: str, function: str) -> str:
    return f"{file} {function}" if function.startswith("_") else function


def _all_said() -> Iterator[Said]:
    for file in sorted((ROOT / "src/orth").rglob("*.py")):
        for function in ast.walk(ast.parse(file.read_text())):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from (Said(str(file), function, one) for one in ast.walk(function) if isinstance(one, ast.Call))


def actions() -> set[str]:
    """What deeds are called, and what is passed on to where they are."""
    said = list(_all_said())
    places = {"Deed": 0}
    for one in said:
        first = one.call.args[0] if one.call.args else None
        if one.called == "Deed" and isinstance(first, ast.Name) and first.id in one.parameters:
            places[_named(one.file, one.function.name)] = one.parameters.index(first.id)
    found: set[str] = set()
    for one in said:
        place = places.get(one.called)
        if place is not None:
            found |= _values(one, one.call.args[place])
    return found


def _values(said: Said, action: ast.expr) -> set[str]:
    written = ast.unparse(action)
    if isinstance(action, ast.Constant):
        return {str(action.value)}
    if isinstance(action, ast.IfExp):
        return _values(said, action.body) | _values(said, action.orelse)
    if written in _COMPUTED or written in said.parameters:  # whoever calls it says which
        return _COMPUTED.get(written, set())
    assigned = [one for one in ast.walk(said.function) if isinstance(one, ast.Assign)]
    values = [one.value for one in assigned if ast.unparse(one.targets[0]) == written]
    assert values, f"{said.file}: nobody knows which actions {written} stands for"
    return {value for one in values for value in _values(said, one)}


def test_everything_that_was_done_has_words() -> None:
    found = {one.replace(".", "_") for one in actions()}
    assert {"job_update", "silence_end", "api_refused", "cluster_drain", "batch_start", "secret_set"} <= found
    assert sorted(found - TEXTS.keys()) == [], "without words"
    assert sorted(TEXTS.keys() - found) == [], "words for what nobody says"
