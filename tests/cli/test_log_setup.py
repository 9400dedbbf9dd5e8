import json
import logging
import re
from collections.abc import Iterator

import pytest

from orth.cli.log_setup import set_up_log
from orth.errors import BadSettings

log = logging.getLogger("orth.somewhere")


@pytest.fixture(autouse=True)
def _log_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()  # so that basicConfig closes only its own
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_record_is_one_line_of_text(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_log("info", {})
    log.info("job %s is due", 7)
    log.warning("two\nlines")
    told = capsys.readouterr()
    assert told.out == ""
    first, second = told.err.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} INFO  orth\.somewhere: job 7 is due", first)
    assert second.endswith(r" WARNING orth.somewhere: two\nlines")


def test_a_traceback_stays_in_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_log("info", {"ORTH_LOG_FORMAT": "text"})
    try:
        raise ValueError("broken")
    except ValueError:
        log.exception("it failed")
    (line,) = capsys.readouterr().err.splitlines()
    assert "it failed" in line
    assert line.endswith("ValueError: broken")


def test_quieter_records_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_log("warning", {})
    log.info("quiet")
    log.warning("loud")
    assert "quiet" not in capsys.readouterr().err


def test_everyday_news_of_libraries_is_for_those_who_debug(capsys: pytest.CaptureFixture[str]) -> None:
    library = logging.getLogger("alembic.runtime")
    for level, heard in [("info", ["warning"]), ("debug", ["news", "warning"]), ("error", [])]:
        set_up_log(level, {})
        library.info("news")
        library.warning("warning")
        assert [line.rpartition(" ")[2] for line in capsys.readouterr().err.splitlines()] == heard


def test_a_record_can_be_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_log("debug", {"ORTH_LOG_FORMAT": "json"})
    log.debug("é\n%d", 1)
    try:
        raise ValueError("broken")
    except ValueError:
        log.exception("it failed")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", first.pop("time"))
    assert first == {"level": "debug", "logger": "orth.somewhere", "message": "é\n1"}
    assert "ValueError: broken" in second["exception"]


def test_setting_up_again_replaces_what_was_there(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_log("info", {})
    set_up_log("info", {})
    log.info("once")
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(BadSettings, match="ORTH_LOG_FORMAT is 'xml'; it can be text or json"):
        set_up_log("info", {"ORTH_LOG_FORMAT": "xml"})


@pytest.mark.parametrize("written", ["text", "json"])
def test_no_name_forges_a_line_or_commands_a_terminal(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A52: what people and strangers call things ends up in records."""
    name = "job\r\n2026-01-01 00:00:00.000 INFO  orth: all is well\x1b[2J\x1b]0;t\x07\u2028\x85\u202e\x9b31m"
    set_up_log("info", {"ORTH_LOG_FORMAT": written})
    log.warning("%s has failed", name)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.removesuffix("\n").isprintable()
    if written == "json":
        assert json.loads(told)["message"] == f"{name} has failed"
    else:
        assert r"job\r\n2026" in told
