import os
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.errors import Conflict
from orth.executor.facts import RecordQuarantined
from orth.executor.journal import Journal, done_record, put_record
from orth.wire.messages import CallbackItem
from tests.executor.bench import NOON, Ears


def item(log_id: int, message: str = "") -> CallbackItem:
    return CallbackItem(log_id=log_id, log_date_time=NOON, handle_code=200, handle_msg=message, incarnation="i")


def segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.journal"))


class Disk:
    """Opens journals in one directory, one after another, as restarted processes would."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ears = Ears()
        self.journal = self.open()

    def open(self) -> Journal:
        journal = Journal(self.directory, self.ears)
        self.recovered = journal.recover()
        return journal

    def restart(self) -> dict[int, CallbackItem]:
        self.journal.close()
        self.journal = self.open()
        return self.recovered


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path / "outbox")


def test_what_was_put_and_not_done_is_found_again(disk: Disk) -> None:
    results = {log_id: item(log_id, f"line one\nline {log_id} \u2028 é") for log_id in (1, 2, 3)}
    for result in results.values():
        disk.journal.append(put_record(result), force=True)
    disk.journal.append(done_record([2]), force=False)
    assert disk.restart() == {1: results[1], 3: results[3]}
    assert disk.restart() == {1: results[1], 3: results[3]}
    assert len(segments(disk.directory)) == 1
    assert disk.ears.of(RecordQuarantined) == []


def test_a_second_process_is_kept_out_until_the_first_is_gone(disk: Disk) -> None:
    with pytest.raises(Conflict):
        Journal(disk.directory, disk.ears)
    disk.restart()


@given(cut=st.integers(0, 200), garbage=st.binary(max_size=40))
def test_a_torn_end_costs_nothing_that_was_forced(
    tmp_path_factory: pytest.TempPathFactory, cut: int, garbage: bytes
) -> None:
    disk = Disk(tmp_path_factory.mktemp("journal"))
    disk.journal.append(put_record(item(1, "safe")), force=True)
    torn = put_record(item(2, "x" * 100))
    torn = torn[: min(cut, len(torn) - 1)]
    with segments(disk.directory)[-1].open("ab") as file:
        file.write(torn + garbage)
    found = disk.restart()
    assert found[1].handle_msg == "safe"
    assert found.keys() <= {1}
    assert disk.restart().keys() == {1}


def flipped(record: bytes) -> bytes:
    return record[:40] + bytes([record[40] ^ 1]) + record[41:]


def framed(body: bytes) -> bytes:
    return b"%08x %d %s\n" % (zlib.crc32(body), len(body), body)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (flipped, "the checksum does not match"),
        (lambda record: record[: len(record) // 2] + b"\n", "the checksum does not match"),
        (lambda _: b"\x00" * 100 + b"\n", "not enough values"),
        (lambda _: b"\n", "not enough values"),
        (lambda _: framed(b'{"v":2,"put":{}}'), "the record has version 2, this program knows 1"),
        (lambda _: framed(b'{"v":1,"put":{"logId":"x"}}'), "not a result: 2 fields do not fit"),
        (lambda _: framed(b'{"v":1,"other":1}'), "done"),
        (lambda _: framed(b"[]"), "list indices"),
    ],
)
def test_damage_in_the_middle_is_set_aside_and_the_rest_is_read(
    disk: Disk, damage: Callable[[bytes], bytes], reason: str
) -> None:
    [segment] = segments(disk.directory)
    bad = damage(put_record(item(2, "lost")))
    segment.write_bytes(put_record(item(1)) + bad + put_record(item(3)))
    assert disk.restart().keys() == {1, 3}
    [told] = disk.ears.of(RecordQuarantined)
    assert reason in told.reason
    assert (told.file, told.offset, told.length) == (segment.name, len(put_record(item(1))), len(bad))
    assert (disk.directory / "quarantined").read_bytes() == bad


def test_a_crash_between_the_new_segment_and_the_removal_of_the_old_changes_nothing(disk: Disk) -> None:
    disk.journal.append(put_record(item(1)), force=True)
    disk.journal.append(put_record(item(2)), force=True)
    disk.journal.append(done_record([1]), force=False)
    [old] = segments(disk.directory)
    kept = old.read_bytes()
    disk.restart()
    disk.journal.append(done_record([2]), force=False)
    old.write_bytes(kept)
    assert disk.restart() == {}


def test_writers_that_come_together_share_an_fsync(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    first_is_in, let_go = threading.Event(), threading.Event()
    real = os.fsync

    def slow_fsync(file: int) -> None:
        first_is_in.set()
        assert let_go.wait(10)
        real(file)

    monkeypatch.setattr(os, "fsync", slow_fsync)
    writers = [
        threading.Thread(target=disk.journal.append, args=(put_record(item(n)),), kwargs={"force": True})
        for n in range(20)
    ]
    writers[0].start()
    assert first_is_in.wait(10)
    for writer in writers[1:]:
        writer.start()
    while len(disk.journal._batch.records) < 19:
        assert any(writer.is_alive() for writer in writers)
    let_go.set()
    for writer in writers:
        writer.join(10)
    assert disk.journal.fsyncs == 2
    monkeypatch.undo()
    assert len(disk.restart()) == 20


def test_after_a_failed_fsync_the_segment_is_not_trusted_again(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", failing)
        with pytest.raises(OSError, match="Input/output error"):
            disk.journal.append(put_record(item(1)), force=True)
        assert disk.journal.broken
        with pytest.raises(OSError, match="Input/output error"):
            disk.journal.rewrite(lambda: [put_record(item(1))])
    with pytest.raises(OSError, match="after an earlier failure"):
        disk.journal.append(put_record(item(2)), force=True)
    [old] = segments(disk.directory)
    disk.journal.rewrite(lambda: [put_record(item(1)), put_record(item(2))])
    assert not disk.journal.broken
    assert segments(disk.directory) != [old]
    assert disk.restart().keys() == {1, 2}


def test_everyone_who_shared_a_failed_write_learns_of_it(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, let_go = threading.Event(), threading.Event()

    def failing(_: int) -> None:
        inside.set()
        assert let_go.wait(10)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", failing)
    failures: list[OSError] = []

    def append(log_id: int) -> None:
        try:
            disk.journal.append(put_record(item(log_id)), force=True)
        except OSError as error:
            failures.append(error)

    writers = [threading.Thread(target=append, args=(n,)) for n in range(5)]
    writers[0].start()
    assert inside.wait(10)
    for writer in writers[1:]:
        writer.start()
    let_go.set()
    for writer in writers:
        writer.join(10)
    assert len(failures) == 5
