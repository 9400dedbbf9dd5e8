"""What scripts say of themselves, and what is refused."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orth.domain.jobs import GlueType
from orth.domain.script_headers import HEADER_LIMIT, Header, check_header, header_of, required_name
from orth.domain.scripts import check_code
from orth.errors import Invalid

PYTHON = """#!/usr/bin/env python3
# Cleans up.

# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "requests>=2,<3",
#   "Rich",
# ]
# [tool.orth.params.day]
# type = "string"
# description = "Which day"
# required = true
# [tool.orth.params.limit]
# type = "integer"
# default = 10
# minimum = 1
# maximum = 100
# [tool.orth.params.mode]
# type = "string"
# enum = ["fast", "slow"]
# [tool.uv]
# anything = true
# ///
import requests
"""


def python(*lines: str) -> str:
    return "\n".join(["# /// script", *(f"# {line}" for line in lines), "# ///", "print()"])


def test_what_it_needs_and_takes() -> None:
    assert header_of(GlueType.GLUE_PYTHON, PYTHON) == Header(
        requirements=("requests>=2,<3", "Rich"),
        requires_python=">=3.11",
        params_schema={
            "type": "object",
            "properties": {
                "day": {"type": "string", "description": "Which day"},
                "limit": {"type": "integer", "default": 10, "minimum": 1, "maximum": 100},
                "mode": {"type": "string", "enum": ["fast", "slow"]},
            },
            "required": ["day"],
            "additionalProperties": False,
        },
    )


@pytest.mark.parametrize("kind", [GlueType.GLUE_NODEJS, GlueType.GLUE_PHP, GlueType.GLUE_GROOVY])
def test_other_languages_have_other_comments(kind: GlueType) -> None:
    source = '<?php // GLUE_PHP\n// /// script\n// dependencies = ["@scope/pkg@^1"]\n//\n// ///\n'
    assert header_of(kind, source).requirements == ("@scope/pkg@^1",)
    assert header_of(kind, PYTHON) == Header()


def test_a_byte_order_mark_hides_nothing() -> None:
    assert header_of(GlueType.GLUE_PYTHON, "\ufeff" + PYTHON) == header_of(GlueType.GLUE_PYTHON, PYTHON)


@pytest.mark.parametrize("said", ['description = "safe\\u202eexe.txt"', 'enum = ["a\\u202eb", "a"]'])
def test_nothing_in_it_turns_text_around(said: str) -> None:
    trouble = header_of(GlueType.GLUE_PYTHON, python("[tool.orth.params.day]", 'type = "string"', said)).trouble
    assert trouble is not None
    assert trouble.facts["line"] == 4


def test_lines_may_end_as_on_windows() -> None:
    assert header_of(GlueType.GLUE_PYTHON, PYTHON.replace("\n", "\r\n")) == header_of(GlueType.GLUE_PYTHON, PYTHON)


@pytest.mark.parametrize("source", ["", "echo", "# a remark\n", "#/// script\n# ///\n", f"cat <<end\n{PYTHON}end\n"])
def test_code_without_a_header_says_nothing(source: str) -> None:
    assert header_of(GlueType.GLUE_SHELL, source) == Header()


@pytest.mark.parametrize(
    ("source", "code", "line"),
    [
        ("\n# /// script\n# a = 1\nprint()\n", "header_unended", 2),
        (python() + "\n" + python(), None, 0),  # the second is no comment before the code
        (python().removesuffix("print()") + "\n" + python(), "header_twice", 4),
        (python('a = "' + "x" * HEADER_LIMIT + '"'), "header_too_large", 1),
        (python("", "dependencies = ["), "header_not_toml", 3),
        (python("", "a = !"), "header_not_toml", 3),
        (python("a = " + "[" * 5000), "header_not_toml", 2),
        (python("a = " + "9" * 5000), "header_not_toml", 2),
        (python("", "dependancies = []"), "header_key", 3),
        (python("[tool.orth]", "parameters = 1"), "header_key", 3),
        (python("[tool.orth.params.a]", 'type = "string"', "pattern = 'x'"), "header_key", 4),
        (python("[tool.orth.params.a]", 'type = "string"', "minimum = 1"), "header_key", 4),
        (python("tool = 1"), "header_form", 2),
        (python("[tool.orth]", "params = 1"), "header_form", 3),
        (python("[tool.orth.params]", "", "a = 'text'"), "header_form", 4),
        (python("dependencies = 'requests'"), "header_form", 2),
        (python("dependencies = ['']"), "header_form", 2),
        (python("requires-python = 3"), "header_form", 2),
        (python("dependencies = ['requests >> 2']"), "header_requirement", 2),
        (python("[tool.orth.params.'a b']", 'type = "string"'), "header_param_name", 2),
        (python("[tool.orth.params.a]"), "header_param_type", 2),
        (python("[tool.orth.params.a]", 'type = "date"'), "header_param_type", 2),
        (python("[tool.orth.params.a]", "type = ['string']"), "header_param_type", 2),
        (python("[tool.orth.params.a]", 'type = "string"', "required = 1"), "header_form", 4),
        (python("[tool.orth.params.a]", 'type = "string"', "description = 1"), "header_form", 4),
        (python("[tool.orth.params.a]", 'type = "string"', "enum = []"), "header_form", 4),
        (python("[tool.orth.params.a]", 'type = "string"', "enum = ['a', 1]"), "header_param_value", 4),
        (python("[tool.orth.params.a]", 'type = "integer"', "default = 1.5"), "header_param_value", 4),
        (python("[tool.orth.params.a]", 'type = "integer"', "default = true"), "header_param_value", 4),
        (python("[tool.orth.params.a]", 'type = "integer"', f"default = {2**53}"), "header_param_value", 4),
        (python("[tool.orth.params.a]", 'type = "number"', "maximum = inf"), "header_param_value", 4),
        (python("[tool.orth.params.a]", 'type = "string"', "default = 2026-01-01"), "header_param_value", 4),
        (
            python("[tool.orth.params.a]", 'type = "number"', "minimum = 2", "maximum = 1"),
            "header_param_contradiction",
            2,
        ),
        (
            python("[tool.orth.params.a]", 'type = "number"', "minimum = 2", "default = 1"),
            "header_param_contradiction",
            2,
        ),
        (
            python("[tool.orth.params.a]", 'type = "string"', "enum = ['b']", "default = 'a'"),
            "header_param_contradiction",
            2,
        ),
        (
            python("[tool.orth.params.a]", 'type = "string"', "required = true", "default = 'a'"),
            "header_param_contradiction",
            2,
        ),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(source: str, code: str | None, line: int) -> None:
    trouble = header_of(GlueType.GLUE_PYTHON, source).trouble
    if code is None:
        assert trouble is None
        return
    assert trouble is not None
    assert (trouble.code, trouble.facts["line"], trouble.field) == (code, line, "glue_source")
    with pytest.raises(Invalid):
        check_header(GlueType.GLUE_PYTHON, source)
    with pytest.raises(Invalid, match=f"line {line}\\b|Line {line}\\b"):
        check_code(GlueType.GLUE_PYTHON, source, "a remark", 65_536)


_WORDS = re.split(
    " ",
    "dependencies requires-python [tool.orth.params.a] [tool.orth] tool type enum default minimum required"
    ' = [ ] { } . , " \' "string" "integer" 1 -1.5 true inf 2026-01-01',
)


@given(st.lists(st.sampled_from([*_WORDS, "\n"]) | st.text(max_size=5), max_size=40), st.sampled_from(list(GlueType)))
@example(["[tool.orth.params]\n", "a", "=", "1"], GlueType.GLUE)
def test_whatever_stands_there_is_read_or_told(words: list[str], kind: GlueType) -> None:
    text = " ".join(words).split("\n")
    mark = "//" if header_of(kind, "// /// script\n").trouble else "#"
    source = "\n".join([f"{mark} /// script", *(f"{mark} {line}" for line in text), f"{mark} ///"])
    header = header_of(kind, source)
    assert header.trouble is None or header.trouble.code is not None
    assert header_of(kind, " ".join(words)).trouble is None


@pytest.mark.parametrize(
    ("requirement", "name"),
    [
        ("requests", "requests"),
        ("zope.interface [test] >= 2.0, != 2.1", "zope.interface"),
        ("a(>=1)", "a"),
        ("pip @ https://example.org/pip.whl", "pip"),
        ("tomli>=2; python_version < '3.11'", "tomli"),
        ("-r requirements.txt", None),
        ("--index-url=http://evil", None),
        ("a b", None),
        ("", None),
    ],
)
def test_the_name_of_a_requirement(requirement: str, name: str | None) -> None:
    assert required_name(requirement) == name
