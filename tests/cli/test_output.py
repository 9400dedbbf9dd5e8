"""What commands show, in each form."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from orth.cli.output import as_yaml, show_list, show_one, titled

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=12)
    | st.sampled_from(["yes", "null", "1e3", "- a", "a: b"]),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(min_size=1, max_size=6), part, max_size=4),
    max_leaves=12,
)
ITEMS = [{"id": 1, "name": "first"}, {"id": 2, "name": "sec\x1bond\nline"}]
COLUMNS = {"id": lambda one: one["id"], "name": lambda one: one["name"], "gone": lambda _one: None}


@given(VALUES)
def test_yaml_says_what_json_says(value: object) -> None:
    assert yaml.safe_load(as_yaml(value)) == value


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("table", "ID  NAME          GONE\n1   first         -\n2   sec\ufffdond line  -\n"),
        ("json", json.dumps(ITEMS, indent=2, ensure_ascii=False) + "\n"),
        ("name", "1\n2\n"),
    ],
)
def test_a_list_in_each_form(output: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_list(ITEMS, output, COLUMNS)
    assert capsys.readouterr().out == shown


def test_an_empty_list(capsys: pytest.CaptureFixture[str]) -> None:
    show_list([], "table", COLUMNS)
    show_list([], "json", COLUMNS)
    show_list([], "yaml", COLUMNS)
    show_list([], "name", COLUMNS)
    assert capsys.readouterr().out == "ID  NAME  GONE\n[]\n[]\n"


def test_texts_of_several_lines_stay_in_their_column(capsys: pytest.CaptureFixture[str]) -> None:
    assert titled([("A", "one\ntwo"), ("Longer", "")]) == ["A       one", "        two", "Longer  -"]
    show_one({"id": 3}, "table", lambda one: [("Id", str(one["id"]))])
    show_one({"id": 3}, "name", lambda _one: [])
    assert capsys.readouterr().out == "Id  3\n3\n"
