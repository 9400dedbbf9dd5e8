"""Code: what is refused, and how two versions differ."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.domain.jobs import GlueType
from orth.domain.scripts import check_code, check_source, difference, digest_of
from orth.errors import Invalid

LIMIT = 100


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("", "There is no code"),
        (" \n\t", "There is no code"),
        ("echo \x00", "NUL"),
        ("echo \ud800", "surrogate"),
        ("ü" * 51, "102 bytes; 100 are allowed"),
    ],
)
def test_what_is_no_source(source: str, told: str) -> None:
    with pytest.raises(Invalid, match=told) as refused:
        check_source(source, LIMIT)
    assert refused.value.field == "glue_source"


@pytest.mark.parametrize("source", ["x", "ü" * 50, "echo 1\r\n", "\u202e", "日本語"])
def test_what_is_a_source(source: str) -> None:
    check_source(source, LIMIT)


@pytest.mark.parametrize("remark", ["", "abc", "x" * 101])
def test_a_version_needs_a_remark(remark: str) -> None:
    with pytest.raises(Invalid, match="4 to 100") as refused:
        check_code(GlueType.GLUE_SHELL, "echo", remark, LIMIT)
    assert refused.value.field == "glue_remark"


def test_a_handler_in_the_executor_has_no_code() -> None:
    with pytest.raises(Invalid, match="BEAN"):
        check_code(GlueType.BEAN, "echo", "a remark", LIMIT)
    check_code(GlueType.GLUE, "echo", "a remark", LIMIT)


def test_a_digest_is_that_of_the_bytes() -> None:
    assert digest_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_difference_is_what_diff_shows() -> None:
    told = difference("one\ntwo\nthree", "one\n2\nthree\n", "version 1", "now")
    assert told.splitlines() == [
        "--- version 1",
        "+++ now",
        "@@ -1,3 +1,3 @@",
        " one",
        "-two",
        "-three",
        "\\ No newline at end of file",
        "+2",
        "+three",
    ]
    assert difference("same\n", "same\n", "a", "b") == ""


LINES = st.lists(st.sampled_from(["a", "b", "", "ü"]), max_size=12).map("\n".join)


@given(before=LINES, after=LINES)
def test_whoever_applies_it_gets_the_new_version(before: str, after: str) -> None:
    assert _applied(before, difference(before, after, "before", "after")) == after


def _applied(before: str, told: str) -> str:
    """``before`` with the hunks of a unified diff applied, as their definition says."""
    if not told:
        return before
    old = before.split("\n")
    old = [line + "\n" for line in old[:-1]] + ([old[-1]] if old[-1] else [])
    made: list[str] = []
    at = 0
    lines = told.split("\n")[2:-1]
    for place, line in enumerate(lines):
        unended = place + 1 < len(lines) and lines[place + 1].startswith("\\")
        text = line[1:] + ("" if unended else "\n")
        if line.startswith("@@"):
            start = int(line.split("-")[1].split(",")[0].split(" ")[0])
            count = line.split("-")[1].split(" ")[0].partition(",")[2] or "1"
            begin = start if count == "0" else start - 1
            made += old[at:begin]
            at = begin
        elif line.startswith(" "):
            assert old[at] == text
            made.append(text)
            at += 1
        elif line.startswith("-"):
            assert old[at] == text
            at += 1
        elif line.startswith("+"):
            made.append(text)
    return "".join(made + old[at:])


def test_texts_made_to_be_slow_to_compare_are_not() -> None:
    head, tail = "same\n" * 10, "end\n" * 5
    before = head + "".join(f"{n % 100}\n" for n in range(15_000)) + tail
    after = head + "".join(f"{n * 7 % 100}\n" for n in range(15_000)) + tail
    began = time.process_time()
    told = difference(before, after, "before", "after")
    assert time.process_time() - began < 2
    assert _applied(before, told) == after
    assert told.splitlines()[3] == " same"
