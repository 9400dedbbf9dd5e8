"""``docs/demands.md`` keeps its word: no demand is missing, and none is called met without a test that exists."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).parents[1]
IDS = [f"{part}.{number}" for part, last in enumerate([32, 32, 18, 24, 20]) for number in range(1, last + 1)]


class Row(NamedTuple):
    """One line of the table."""

    id: str
    demand: str
    where: str
    test: str
    state: str


def rows(text: str) -> list[Row]:
    """Every row of every table; a line that starts like one and has other columns is an error."""
    lines = (line for line in text.splitlines() if re.match(r"\|\s*\d", line))
    return [Row(*(cell.strip() for cell in line.strip().strip("|").split("|"))) for line in lines]


def problems(row: Row, repository: Path) -> Iterator[str]:
    """What is wrong with one row."""
    tests = items(row.test)
    if row.state not in ("open", "met"):
        yield f"{row.id}: the state is {row.state!r}, neither open nor met"
    if row.state == "met" and not tests:
        yield f"{row.id}: met, and no test is named"
    if row.state == "met" and not items(row.where):
        yield f"{row.id}: met, and no file is named"
    for path in items(row.where):
        if not (repository / path).exists():
            yield f"{row.id}: {path} does not exist"
    for test in tests:
        if not is_defined(test, repository):
            yield f"{row.id}: there is no test {test}"


def items(cell: str) -> list[str]:
    return [item.strip().strip("`") for item in cell.split(",") if item.strip()]


def is_defined(name: str, repository: Path) -> bool:
    """Whether ``tests/….py::test_name`` or ``tests/….py::TestClass::test_name`` is defined."""
    path, *names = name.split("::")
    if not names or not names[-1].startswith("test_") or not (repository / path).is_file():
        return False
    scope: ast.AST = ast.parse((repository / path).read_text())
    for part in names:
        named = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        inside = [node for node in ast.iter_child_nodes(scope) if isinstance(node, named) and node.name == part]
        if not inside:
            return False
        scope = inside[0]
    return not isinstance(scope, ast.ClassDef)


@pytest.fixture(scope="module")
def table() -> list[Row]:
    return rows((REPOSITORY / "docs/demands.md").read_text())


def test_every_demand_appears_exactly_once(table: list[Row]) -> None:
    assert len(IDS) == 126
    assert Counter(row.id for row in table) == Counter(IDS)


def test_every_demand_is_put_in_words(table: list[Row]) -> None:
    assert [row.id for row in table if len(row.demand) < 10] == []


def test_every_row_keeps_its_word(table: list[Row]) -> None:
    assert [problem for row in table for problem in problems(row, REPOSITORY)] == []


@pytest.fixture
def small_repository(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/room.py").touch()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_room.py").write_text(
        "def test_door(): pass\nasync def test_window(): pass\nclass TestWall:\n    def test_holds(self): pass\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "| 0.1 | a demand | | | open |",
        "| 0.1 | a demand | `src/room.py` | `tests/test_room.py::test_door` | met |",
        "| 0.1 | a demand | src/room.py, src | tests/test_room.py::test_door, tests/test_room.py::test_window | met |",
        "| 0.1 | a demand | `src/room.py` | `tests/test_room.py::TestWall::test_holds` | open |",
    ],
)
def test_a_good_row_has_no_problem(small_repository: Path, line: str) -> None:
    (row,) = rows(line)
    assert list(problems(row, small_repository)) == []


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("| 0.1 | a demand | `src/room.py` | | met |", "no test is named"),
        ("| 0.1 | a demand | | `tests/test_room.py::test_door` | met |", "no file is named"),
        ("| 0.1 | a demand | | | nearly |", "neither open nor met"),
        ("| 0.1 | a demand | `src/cellar.py` | | open |", "src/cellar.py does not exist"),
        ("| 0.1 | a demand | | `tests/test_room.py::test_roof` | open |", "no test tests/test_room.py::test_roof"),
        ("| 0.1 | a demand | | `tests/test_cellar.py::test_door` | open |", "no test tests/test_cellar.py"),
        ("| 0.1 | a demand | | `tests/test_room.py` | open |", "no test tests/test_room.py"),
        ("| 0.1 | a demand | | `tests/test_room.py::TestWall` | open |", "no test tests/test_room.py::TestWall"),
        ("| 0.1 | a demand | | `tests/test_room.py::test_holds` | open |", "no test tests/test_room.py::test_holds"),
    ],
)
def test_a_bad_row_is_named_with_its_problem(small_repository: Path, line: str, complaint: str) -> None:
    (row,) = rows(line)
    (problem,) = problems(row, small_repository)
    assert problem.startswith("0.1: ")
    assert complaint in problem


def test_a_row_with_a_column_too_few_is_an_error() -> None:
    with pytest.raises(TypeError):
        rows("| 0.1 | a demand | | open |")
