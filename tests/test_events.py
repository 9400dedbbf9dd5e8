"""Facts are told once to every listener; a broken listener is dropped, never the work."""

import logging
from dataclasses import dataclass

import pytest

from orth.events import Event, Events, LoopCrashed, LoopFailed, to_log
from orth.executor.facts import CallbacksFailed, RegistrationFailed
from orth.testing import Recorder


@dataclass(frozen=True, slots=True)
class Happened(Event):
    sentence = "{what} happened"
    what: str


def test_sentences_are_made_of_facts() -> None:
    assert str(Happened("something")) == "something happened"
    assert "next try in 1.5 s" in str(LoopFailed("Due", "away", 1.5))


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (LoopFailed("Due", "h:1 refused the connection.", 1.5), "Due: h:1 refused the connection; next try in 1.5 s"),
        (RegistrationFailed("h:1 is away.", 2.0), "not registered: h:1 is away; next try in 2.0 s"),
        (CallbacksFailed(3, "h:1 is away.", 2.0), "3 results wait: h:1 is away; next try in 2.0 s"),
        (Happened("It"), "It happened"),
        (Happened("It is late."), "It is late. happened"),
    ],
)
def test_a_sentence_of_an_error_has_no_period_where_the_line_goes_on(event: Event, text: str) -> None:
    assert str(event) == text


def test_a_broken_listener_is_dropped_and_the_others_hear(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_event: Event) -> None:
        raise RuntimeError("broken")

    recorder = Recorder()
    events = Events(broken, recorder)
    events.emit(Happened("one"))
    events.emit(Happened("two"))
    assert [event.what for event in recorder.all(Happened)] == ["one", "two"]
    assert sum("a listener failed" in record.message for record in caplog.records) == 1


class Unwritable(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise RuntimeError("no room")


def test_a_log_that_cannot_be_written_stops_nobody_and_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_event: Event) -> None:
        raise RuntimeError("broken")

    recorder, handler = Recorder(), Unwritable()
    events = Events(broken, to_log, recorder)
    caplog.set_level(logging.INFO, logger="orth")
    logging.getLogger().addHandler(handler)
    try:
        events.emit(Happened("one"))
    finally:
        logging.getLogger().removeHandler(handler)
    events.emit(Happened("two"))
    assert [event.what for event in recorder.all(Happened)] == ["one", "two"]
    assert "two happened" in caplog.text


def test_listening_can_be_ended() -> None:
    events, recorder = Events(), Recorder()
    stop = events.listen(recorder)
    events.emit(Happened("one"))
    stop()
    events.emit(Happened("two"))
    assert len(recorder.heard) == 1


def test_a_fact_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "orth"):
        to_log(Happened("first\nFAKE 2026 line\x1b[31m"))
        to_log(LoopCrashed("Due", "oops", "a\nb"))
    assert [record.levelno for record in caplog.records] == [logging.INFO, logging.CRITICAL]
    assert all("\n" not in record.message and "\x1b" not in record.message for record in caplog.records)


async def test_the_recorder_waits_for_what_comes() -> None:
    events = Events()
    recorder = Recorder(events)
    events.emit(Happened("later"))
    assert (await recorder.seen(Happened, what="later")).what == "later"
    with pytest.raises(TimeoutError):
        await recorder.seen(Happened, within=0.01, what="never")
