import re
from pathlib import Path

import pytest

from orth.cli import failures
from orth.cli.failures import report
from orth.errors import (
    BadSettings,
    CannotStart,
    Conflict,
    Forbidden,
    NotFound,
    StoreUnavailable,
    TermEnded,
    Unauthenticated,
)
from orth.executor.author_commands import EXIT_CODES


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (CannotStart("The port is taken.", hint="Choose another."), 1, "orth: The port is taken. Choose another.\n"),
        (TermEnded(3), 1, "orth: Term 3 is over: a newer leader exists, so nothing was written.\n"),
        (BadSettings(["first", "second"]), 2, "orth: first\north: second\n"),
        (NotFound("job", 7), 3, "orth: There is no job 7.\n"),
        (Unauthenticated("Who are you?"), 4, "orth: Who are you?\n"),
        (Forbidden("Not you."), 4, "orth: Not you.\n"),
        (Conflict("Somebody was first."), 5, "orth: Somebody was first.\n"),
        (StoreUnavailable("The database\n is away."), 6, "orth: The database is away.\n"),
        (KeyError("x"), 1, "orth: unexpected KeyError: 'x' (this is a bug; ORTH_DEBUG=1 shows where)\n"),
    ],
)
def test_an_error_is_one_line_and_a_code(
    error: Exception, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(error, debug=False) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == line


def test_the_traceback_comes_before_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NotFound) as raised:
        raise NotFound("job", 7)
    assert report(raised.value, debug=True) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Traceback")
    assert lines[-1] == "orth: There is no job 7."


def test_the_page_lists_every_exit_code() -> None:
    page = (Path(__file__).parents[2] / "docs/troubleshooting.md").read_text()
    section = page.partition("## Exit codes of the commands")[2].partition("\n## ")[0]
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)}
    of_errors = {code for _, code in failures._EXIT_CODES} | {*failures._EXIT_CODES_OF_ANSWERS.values()}
    assert listed == {0, 1} | of_errors | {*EXIT_CODES.values()}
