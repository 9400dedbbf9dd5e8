import os
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from orth.executor.journal import Journal
from orth.executor.recorder import Recorder
from tests.executor.bench import Ears, eventually


@dataclass
class Note:
    record: bytes


class Desk:
    """A recorder on a journal, and what it said."""

    def __init__(self, directory: Path) -> None:
        self.journal = Journal(directory, Ears())
        self.journal.recover()
        self.said: list[tuple[list[bytes], OSError | None]] = []
        self.recorder: Recorder[Note] = Recorder(self.journal, self._hear, lambda: self.firsts.append(len(self.said)))
        self.firsts: list[int] = []
        """How many batches had been recorded when it was asked to write what comes first."""

    def _hear(self, batch: list[Note], failure: OSError | None) -> None:
        self.said.append(([note.record for note in batch], failure))

    @property
    def records(self) -> list[bytes]:
        return [record for batch, _failure in self.said for record in batch]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "outbox")


def numbered(number: int) -> Note:
    return Note(b"%d\n" % number)


def test_everything_is_written_in_order_and_told_once(desk: Desk, tmp_path: Path) -> None:
    for number in range(200):
        desk.recorder.give(numbered(number))
    desk.recorder.join()
    assert desk.records == [b"%d\n" % number for number in range(200)]
    [segment] = (tmp_path / "outbox").glob("*.journal")
    assert segment.read_bytes() == b"".join(desk.records)
    desk.recorder.close()


def test_what_comes_while_the_disk_is_busy_goes_together(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    syncing, let_go = threading.Event(), threading.Event()
    real = os.fsync

    def slow_fsync(file: int) -> None:
        syncing.set()
        assert let_go.wait(10)
        real(file)

    monkeypatch.setattr(os, "fsync", slow_fsync)
    desk.recorder.give(numbered(0))
    assert syncing.wait(10)
    for number in range(1, 100):
        desk.recorder.give(numbered(number))
    assert desk.said == []
    let_go.set()
    desk.recorder.join()
    assert [len(batch) for batch, _failure in desk.said] == [1, 99]
    assert desk.firsts == [0, 1], "what comes first is written once for each batch, and before it"
    assert desk.journal.fsyncs == 2
    desk.recorder.close()


def test_a_failure_is_told_with_its_batch_and_the_next_is_tried(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", failing)
        desk.recorder.give(numbered(1))
        desk.recorder.join()
    [(batch, failure)] = desk.said
    assert (batch, str(failure)) == ([b"1\n"], "[Errno 28] No space left on device")
    desk.journal.rewrite(list)
    desk.recorder.give(numbered(2))
    desk.recorder.join()
    assert desk.said[-1] == ([b"2\n"], None)
    desk.recorder.close()


def test_closing_writes_what_was_given_and_takes_nothing_more(desk: Desk) -> None:
    for number in range(50):
        desk.recorder.give(numbered(number))
    desk.recorder.close()
    desk.recorder.give(numbered(99))
    assert desk.records == [b"%d\n" % number for number in range(50)]
    desk.recorder.join()


def test_closing_what_was_never_used_is_nothing(desk: Desk) -> None:
    desk.recorder.join()
    desk.recorder.close()
    assert desk.said == []


def test_many_threads_lose_nothing(desk: Desk) -> None:
    def give(start: int) -> None:
        for number in range(start, start + 100):
            desk.recorder.give(numbered(number))

    threads = [threading.Thread(target=give, args=(start,)) for start in range(0, 800, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    desk.recorder.join()
    assert sorted(int(record) for record in desk.records) == list(range(800))
    desk.recorder.close()


def test_without_a_thread_whoever_waits_does_the_work(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as exhausted:
        exhausted.setattr(threading.Thread, "start", none_left)
        desk.recorder.give(numbered(1))
        assert desk.said == []
        desk.recorder.join()
        assert desk.records == [b"1\n"]
    desk.recorder.give(numbered(2))
    desk.recorder.join()
    assert desk.records == [b"1\n", b"2\n"]
    desk.recorder.close()


def test_closing_while_somebody_waits_for_the_disk_ends(desk: Desk) -> None:
    for _ in range(200):
        recorder: Recorder[Note] = Recorder(desk.journal, desk._hear, lambda: None)
        recorder.give(numbered(1))
        joiners = [threading.Thread(target=recorder.join, daemon=True) for _ in range(3)]
        for joiner in joiners:
            joiner.start()
        recorder.close()
        for joiner in joiners:
            joiner.join(10)
            assert not joiner.is_alive()
    assert len(desk.records) == 200


class Starting:
    """Says that triggers are being started until told otherwise, and counts how often it was asked."""

    def __init__(self) -> None:
        self.going_on = True
        self.asked = 0

    def __call__(self) -> bool:
        self.asked += 1
        return self.going_on


def test_results_wait_while_others_start_and_go_together_then(desk: Desk) -> None:
    starting = Starting()
    recorder: Recorder[Note] = Recorder(desk.journal, desk._hear, lambda: None, starting)
    recorder.give(numbered(1))
    eventually(lambda: starting.asked > 0)
    recorder.give(numbered(2))
    starting.going_on = False
    eventually(lambda: desk.records == [b"1\n", b"2\n"])
    assert len(desk.said) == 1
    recorder.close()


def test_they_do_not_wait_for_ever_nor_when_somebody_waits_for_them(desk: Desk) -> None:
    starting = Starting()
    recorder: Recorder[Note] = Recorder(desk.journal, desk._hear, lambda: None, starting)
    recorder.give(numbered(1))
    eventually(lambda: desk.records == [b"1\n"])
    assert starting.asked == 25
    recorder.give(numbered(2))
    recorder.join()
    assert desk.records == [b"1\n", b"2\n"]
    assert starting.asked < 35
    recorder.close()
