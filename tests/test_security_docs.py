"""``docs/security.md`` keeps its word: no attack of the catalogue is missing, and every test named there exists."""

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fuzz.test_fuzz import ALL
from tests.test_demands import REPOSITORY, is_defined, items

PAGE = "docs/security.md"
IDS = [f"A{number:02}" for number in range(1, 91)]
STATES = ("answered", "open")


class Row(NamedTuple):
    """One line of the catalogue."""

    id: str
    attack: str
    answer: str
    test: str
    state: str


def rows(text: str) -> list[Row]:
    lines = (line for line in text.splitlines() if re.match(r"\| A\d", line))
    return [Row(*(cell.strip() for cell in line.strip().strip("|").split(" | "))) for line in lines]


@pytest.fixture(scope="module")
def page() -> str:
    return (REPOSITORY / PAGE).read_text()


def test_every_attack_appears_exactly_once(page: str) -> None:
    assert Counter(row.id for row in rows(page)) == Counter(IDS)


def test_every_row_says_what_is_tried_and_what_comes_of_it(page: str) -> None:
    assert [row.id for row in rows(page) if len(row.attack) < 8 or len(row.answer) < 3] == []


def test_a_row_is_answered_by_a_test_or_says_why_not(page: str) -> None:
    assert [row.id for row in rows(page) if row.state not in STATES] == []
    assert [row.id for row in rows(page) if (row.state == "answered") != bool(items(row.test))] == []


def test_every_test_that_is_named_exists(page: str) -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py::[\w:]+)`", page))
    assert len(named) > 100
    assert sorted(name for name in named if not is_defined(name, REPOSITORY)) == []


def test_every_target_of_the_fuzz_run_has_its_figures(page: str) -> None:
    assert [target.name for target in ALL if f"| {target.name} |" not in page] == []


def test_every_setting_that_is_named_exists(page: str) -> None:
    from orth.settings.names import FIELDS

    sections = {key.partition(".")[0] for key in FIELDS}
    named = {name for name in re.findall(r"`([a-z]+\.[a-z_]+)`", page) if name.partition(".")[0] in sections}
    assert named
    assert named <= FIELDS.keys()


def test_a_row_with_a_column_too_few_is_an_error() -> None:
    with pytest.raises(TypeError):
        rows("| A01 | an attack | an answer | open |")


def test_names_of_tests_lead_somewhere(tmp_path: Path) -> None:
    assert not is_defined("tests/test_nothing.py::test_nothing", tmp_path)
