"""Whatever the API refuses has a code with words in ``orth.sayings``: the console can say it in every language.

The code is read, not run: each place where a refusal is made is looked at, so a new one cannot be forgotten.
"""

import ast
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

from orth import sayings
from orth.sayings import SAYINGS, access, alarms, cluster, code, executions, fields, jobs, requests, schedules

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/orth"
PACKAGES = ("channels", "cluster", "coordinator", "domain", "store", "wire")
"""Where something can be refused that the API was asked for."""
SUBJECTS = (access, alarms, cluster, code, executions, fields, jobs, requests, schedules)

WITHOUT_CODE: Mapping[str, str] = {
    "channels": "queues and boxes: loops of coordinators and executors use them",
    "cluster/assigning.py": "a loop meets it, and tries again",
    "coordinator/archiving.py": "a loop meets it, and tries again",
    "coordinator/log_keeping.py": "a loop meets it, and tries again",
    "coordinator/contests.py": "told to executors",
    "coordinator/due.py": "a loop meets it, and gives the job up with a reason",
    "coordinator/enrolling.py": "told to executors",
    "coordinator/executor_access.py": "told to executors",
    "coordinator/http/addresses.py": "told to executors and services that register",
    "coordinator/http/allowed_channels.py": "told to executors",
    "coordinator/http/channel_requests.py": "told to executors",
    "coordinator/http/channel_scope.py": "told to executors",
    "coordinator/http/channel_shares.py": "told to executors",
    "coordinator/http/channels.py": "told to executors",
    "coordinator/http/definitions.py:_trouble": "gets the code of the first field",
    "coordinator/http/from_executors.py": "told to executors",
    "coordinator/http/live_socket.py": "browsers show no page what a socket is refused with",
    "coordinator/http/results.py": "told to executors",
    "coordinator/http/services.py:_machine": "told to services",
    "coordinator/http/services.py:small_body": "told to services",
    "coordinator/http/services.py:_report": "told to services",
    "coordinator/registry.py": "told to executors",
    "coordinator/sealing.py:__init__": "a process with such keys does not start",
    "coordinator/services": "told to services, and to sockets",
    "domain/retries.py": "RetryPolicyBody has refused it before, field by field",
    "domain/services.py": "told to services",
    "store/enrolments.py:_make_room": "told to executors",
    "store/engines.py:_own_file": "a process without its file does not start",
    "store/foreign_tables.py": "the command that imports tells it",
    "wire/channel_calls.py": "told to executors",
    "wire/coordinator_calls.py": "a process that is set so does not start",
    "wire/dialects.py": "what coordinators and executors say to each other",
    "wire/live_calls.py": "programs that listen tell it",
    "wire/long_logs.py": "becomes not_a_log where somebody reads it",
    "wire/enrolment.py": "what coordinators and executors say to each other",
    "wire/fields.py": "what coordinators and executors say to each other",
    "wire/signatures.py": "told to executors",
    "wire/open_offers.py": "told to executors, and by them",
    "wire/reading.py": "what coordinators and executors say to each other",
    "wire/strict_json.py": "a page writes JSON by a library",
}
"""Files and folders, or one function of a file, and why no page has to say what is refused there."""
UNHEARD = frozenset({"StoreUnavailable", "ApiProblem", "BadSettings", "CannotStart", "SchemaMismatch", "TermEnded"})
"""Classes whose own words no caller of the API reads: of the first they get those of ``store_unavailable``."""


def files() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (SOURCE / package).rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def refusals() -> frozenset[str]:
    """Names of the classes that need somebody to give them a code: those of our errors that do not do so themselves."""
    classes = [node for path in SOURCE.rglob("*.py") for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)]
    ours = {"OrthError"}
    while more := {one.name for one in classes if {name_of(base) for base in one.bases} & ours} - ours:
        ours |= more
    return frozenset(ours - {one.name for one in classes if gives_itself_a_code(one)} - UNHEARD | {"ValueError"})


def gives_itself_a_code(one: ast.ClassDef) -> bool:
    """In the class, or where one is made."""
    makes = [node for node in one.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    at_once = any(isinstance(node, ast.Assign) and name_of(node.targets[0]) == "code" for node in one.body)
    return at_once or any(
        isinstance(node, ast.Attribute) and node.attr == "code" for make in makes for node in ast.walk(make)
    )


def name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


@cache
def calls(module: ast.Module) -> list[tuple[str, ast.Call]]:
    """Every call, with the function it stands in."""
    found: list[tuple[str, ast.Call]] = []
    ahead: list[tuple[str, ast.AST]] = [("", module)]
    while ahead:
        name, node = ahead.pop()
        if isinstance(node, ast.Call):
            found.append((name, node))
        inside = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else name
        ahead += [(inside, child) for child in ast.iter_child_nodes(node)]
    return found


def uncoded(module: ast.Module) -> list[tuple[str, int]]:
    """Function and line of each refusal that is made from a sentence of its own."""
    raised = {node.exc for node in ast.walk(module) if isinstance(node, ast.Raise)}
    return [
        (function, call.lineno)
        for function, call in calls(module)
        if (name_of(call.func) in refusals() and (call.args or call.keywords))
        or (call in raised and name_of(call.func).islower() and any(map(is_sentence, call.args)))
    ]


def is_sentence(node: ast.expr) -> bool:
    """Whether it is words: a class may stand in a variable, or be called by a function."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and " " in str(node.value))


def reasons_for(path: Path, function: str) -> list[str]:
    place = path.relative_to(SOURCE)
    names = [str(place), f"{place}:{function}", *map(str, place.parents)]
    return [name for name in names if name in WITHOUT_CODE]


def test_whatever_the_api_refuses_has_a_code() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line} {function}"
        for path in files()
        for function, line in uncoded(tree(path))
        if not reasons_for(path, function)
    ]
    assert not found, "Give these a code: SomeError.of('…') with words in orth.sayings."


def test_every_exception_is_needed() -> None:
    used = {name for path in files() for function, _ in uncoded(tree(path)) for name in reasons_for(path, function)}
    assert used == WITHOUT_CODE.keys()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("raise Invalid('No.')", 1),
        ("raise Invalid(f'No {it}.', field='it')", 1),
        ("raise errors.Conflict('No.', hint='Yes.')", 1),
        ("def check(): return Forbidden(because)", 1),
        ("raise ValueError('must be another')", 1),
        ("kind = Invalid if it else Conflict\nraise kind('It is so.')", 1),
        ("raise _refused(f'{it} is so.')", 1),
        ("raise _refused('it_is_so', it=it)", 0),
        ("raise Invalid.of('no_code')", 0),
        ("raise Invalid.like(error)", 0),
        ("raise NotFound('job', 1)", 0),
        ("raise ValueError", 0),
    ],
)
def test_what_counts_as_one_without(text: str, count: int) -> None:
    assert len(uncoded(ast.parse(text))) == count


def coded() -> Iterator[tuple[str, str, set[str] | None]]:
    """Where a refusal is made by its code: the place, the code, and the names of its facts if all of them are there."""
    for path in SOURCE.rglob("*.py"):
        for _, call in calls(tree(path)):
            first = call.args[0] if call.args else None
            if not (isinstance(call.func, ast.Attribute) and call.func.attr == "of"):
                continue
            if name_of(call.func.value) not in refusals() | {"NotFound", "cls"} or not isinstance(first, ast.Constant):
                continue
            facts = {one.arg for one in call.keywords if one.arg != "field"}
            told = {name for name in facts if name is not None}
            yield f"{path.relative_to(SOURCE)}:{call.lineno}", str(first.value), None if None in facts else told


def facts_of(code: str) -> set[str]:
    return {name for text in SAYINGS[code] for _, name, _, _ in Formatter().parse(text) if name}


def test_every_code_has_its_words_and_is_told_their_facts() -> None:
    found = list(coded())
    assert len(found) > 150
    assert [one for one in found if one[1] not in SAYINGS] == []
    assert [one for one in found if one[2] is not None and one[2] != facts_of(one[1])] == []


def test_every_saying_is_said_somewhere_and_has_one_place() -> None:
    words = {
        node.value
        for path in SOURCE.rglob("*.py")
        if "sayings" not in path.parts
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant)
    }
    assert SAYINGS.keys() - words == set()
    counted = Counter(code for subject in SUBJECTS for code in subject.SAYINGS)
    assert [code for code, times in counted.items() if times > 1] == []
    assert counted.keys() == sayings.SAYINGS.keys()


def test_the_console_has_a_word_for_every_thing_that_is_not_found() -> None:
    things = json.loads((ROOT / "console/src/i18n/locales/en/common.json").read_text())["thing"]
    named = {
        str(call.args[0].value)
        for path in files()
        for _, call in calls(tree(path))
        if name_of(call.func) == "NotFound" and isinstance(call.args[0], ast.Constant)
    }
    assert named
    assert named - things.keys() == set()
