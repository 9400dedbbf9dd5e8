import errno
import itertools
import os
import shutil
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.errors import Conflict
from orth.executor import journal as journal_module
from orth.executor.facts import RecordQuarantined
from orth.executor.journal import Journal, done_record, put_record
from orth.executor.results import Result
from tests.executor.bench import NOON, Ears
from tests.forks import forked


def item(log_id: int, message: str = "") -> Result:
    return Result(log_id=log_id, log_date_time=NOON, handle_code=200, handle_msg=message, incarnation="i")


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

    def restart(self) -> dict[int, Result]:
        self.journal.close()
        self.journal = self.open()
        return self.recovered


def test_records_from_before_jobs_were_kept_are_understood(disk: "Disk") -> None:
    line = b'{"v":1,"ended":[[7,200,%d]]}' % NOON
    disk.journal.append(b"%08x %d %s\n" % (zlib.crc32(line), len(line), line), force=True)
    disk.restart()
    assert disk.journal.ended == {7: (200, NOON, 0)}
    assert disk.ears.of(RecordQuarantined) == []


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


def test_how_the_newest_ended_survives_every_restart(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "ENDED_KEPT", 1200)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    for log_id in range(1, 1501):
        disk.journal.append(put_record(item(log_id)), force=False)
    disk.journal.append(done_record(range(1, 1000)), force=False)
    disk.journal.append(done_record([1, *range(1001, 1501)]), force=False)
    for _ in range(2):
        assert list(disk.restart()) == [1000]
        assert list(disk.journal.ended) == [*range(300, 1000), *range(1001, 1501)]
        assert set(disk.journal.ended.values()) == {(200, NOON, 0)}
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


@pytest.mark.parametrize("last", [False, True])
@given(spoilt=st.integers(0, 255).filter(lambda byte: byte != 10))
def test_a_damaged_line_break_costs_no_result(
    tmp_path_factory: pytest.TempPathFactory, spoilt: int, last: bool
) -> None:
    disk = Disk(tmp_path_factory.mktemp("journal"))
    [segment] = segments(disk.directory)
    records = [put_record(item(number, f"result {number}")) for number in (1, 2, 3)]
    at = 2 if last else 1
    records[at] = records[at][:-1] + bytes([spoilt])
    segment.write_bytes(b"".join(records) + (put_record(item(4)) if not last else b""))
    assert disk.restart().keys() == ({1, 2} if last else {1, 2, 3, 4}), "the last may be a torn end, as far as one sees"
    assert len(disk.ears.of(RecordQuarantined)) == last


@pytest.mark.parametrize("body", [b'{"v":1,"ended":[[Infinity,1,1]]}', b'{"v":1,"ended":[[1,1e400,1]]}', b"[" * 10**5])
def test_numbers_and_depths_that_no_version_writes_are_set_aside(disk: Disk, body: bytes) -> None:
    [segment] = segments(disk.directory)
    bad = b"%08x %d %s\n" % (zlib.crc32(body), len(body), body)
    segment.write_bytes(put_record(item(1)) + bad + put_record(item(3)))
    assert disk.restart().keys() == {1, 3}
    assert len(disk.ears.of(RecordQuarantined)) == 1


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


def test_a_segment_cut_at_any_byte_keeps_every_record_before_the_cut(tmp_path: Path) -> None:
    results = {log_id: item(log_id, f"message {log_id} é\n") for log_id in range(1, 6)}
    records = [put_record(result) for result in results.values()] + [done_record([2])]
    whole = b"".join(records)
    for cut in range(len(whole) + 1):
        directory = tmp_path / str(cut)
        directory.mkdir()
        (directory / "00000007.journal").write_bytes(whole[:cut])
        ears = Ears()
        journal = Journal(directory, ears)
        found = journal.recover()
        journal.close()
        ends = list(itertools.accumulate(map(len, records)))
        kept = sum(end <= cut for end in ends)
        expected = set(range(1, min(kept, 5) + 1)) - ({2} if kept == 6 else set())
        assert found == {log_id: results[log_id] for log_id in expected}
        torn = cut not in (0, *ends)
        assert len(ears.of(RecordQuarantined)) == torn


@given(data=st.data())
def test_whatever_happens_to_one_record_the_others_are_delivered(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    results = {log_id: item(log_id, f"message {log_id} é") for log_id in range(1, 6)}
    records = [put_record(result) for result in results.values()]
    victim = data.draw(st.integers(0, 4))
    place = data.draw(st.integers(0, len(records[victim]) - 2))  # its line break stays
    bit = data.draw(st.integers(0, 7))
    hurt = bytearray(records[victim])
    hurt[place] ^= 1 << bit
    directory = tmp_path_factory.mktemp("outbox")
    (directory / "00000001.journal").write_bytes(b"".join([*records[:victim], bytes(hurt), *records[victim + 1 :]]))
    ears = Ears()
    journal = Journal(directory, ears)
    found = journal.recover()
    journal.close()
    others = {log_id: result for log_id, result in results.items() if log_id != victim + 1}
    assert {log_id: result for log_id, result in found.items() if log_id != victim + 1} == others
    assert found.get(victim + 1, results[victim + 1]) == results[victim + 1], "no damage passes as a result"
    assert victim + 1 in found or ears.of(RecordQuarantined)


@pytest.mark.parametrize("trick", ["link", "pipe", "folder"])
def test_a_segment_that_is_no_plain_file_is_told_and_passed_over(disk: Disk, tmp_path: Path, trick: str) -> None:
    disk.journal.append(put_record(item(1)), force=True)
    (tmp_path / "planted").write_bytes(put_record(item(2, "not ours")))
    planted = disk.directory / "00000000.journal"
    {
        "link": lambda: planted.symlink_to(tmp_path / "planted"),
        "pipe": lambda: os.mkfifo(planted),
        "folder": planted.mkdir,
    }[trick]()
    assert disk.restart().keys() == {1}
    assert [told.file for told in disk.ears.of(RecordQuarantined)] == [planted.name]
    assert os.path.lexists(planted), "nothing of somebody else's is removed"


# --- segments that cannot be read -------------------------------------------------------------------------------------

NOBODY = 65534
RECORDS = [put_record(item(2)), put_record(item(3))]
LEFT_IN_PLACE = "the file stays where it is and is looked at again at the next start"


@pytest.fixture
def older(disk: Disk) -> Path:
    """A segment with two results, before the one that holds another."""
    disk.journal.append(put_record(item(1)), force=True)
    older = disk.directory / "00000000.journal"
    older.write_bytes(b"".join(RECORDS))
    return older


def give_away(path: Path, patch: pytest.MonkeyPatch) -> None:
    """Let the file belong to nobody; whoever is not root can only make it look so."""
    if os.geteuid() == 0:
        os.chown(path, NOBODY, -1)
        return
    really, theirs = os.fstat, path.stat()

    def told(file: int) -> os.stat_result:
        found = really(file)
        return os.stat_result((*found[:4], NOBODY, *found[5:])) if os.path.samestat(found, theirs) else found

    patch.setattr(os, "fstat", told)


def check_kept(disk: Disk, older: Path, read: int, reason: str) -> None:
    """It was told once, and survives the removal of old segments now and later."""
    [told] = disk.ears.of(RecordQuarantined)
    assert (told.file, told.offset, told.length) == (older.name, read, sum(map(len, RECORDS)) - read)
    assert reason in told.reason
    assert LEFT_IN_PLACE in told.reason
    disk.journal.rewrite(lambda: map(put_record, disk.recovered.values()))
    assert older.read_bytes() == b"".join(RECORDS)


def test_a_segment_of_another_user_is_kept_until_it_is_ours(
    disk: Disk, older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        give_away(older, patch)
        assert disk.restart().keys() == {1}
        check_kept(disk, older, 0, "not a file of this executor")
    os.chown(older, os.geteuid(), -1)
    assert disk.restart().keys() == {1, 2, 3}
    assert older not in segments(disk.directory)


def test_a_segment_that_cannot_be_opened_is_kept_until_it_can(
    disk: Disk, older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.open

    def no_room(path: Any, *rest: Any, **more: Any) -> int:
        if path == older:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return really(path, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", no_room)
        assert disk.restart().keys() == {1}
    check_kept(disk, older, 0, "Too many open files")
    assert disk.restart().keys() == {1, 2, 3}
    assert older not in segments(disk.directory)


class Failing:
    """A file on a disk that breaks after the first line."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.lines = 0

    def __enter__(self) -> "Failing":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def readline(self, limit: int) -> bytes:
        self.lines += 1
        if self.lines == 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        line: bytes = self.file.readline(limit)
        return line


def test_of_a_segment_that_breaks_off_the_beginning_counts_and_the_file_is_kept(
    disk: Disk, older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.fdopen

    def breaking(file: int, mode: str) -> Any:
        opened = really(file, mode)
        return Failing(opened) if os.path.samestat(os.fstat(file), older.stat()) else opened

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdopen", breaking)
        assert disk.restart().keys() == {1, 2}
    check_kept(disk, older, len(RECORDS[0]), "Input/output error")
    assert disk.restart().keys() == {1, 2, 3}
    assert older not in segments(disk.directory)


# --- files that somebody has removed ----------------------------------------------------------------------------------


def removed_folder(disk: Disk) -> None:
    shutil.rmtree(disk.directory)


def removed_segment(disk: Disk) -> None:
    for path in segments(disk.directory):
        path.unlink()


def replaced_segment(disk: Disk) -> None:
    [path] = segments(disk.directory)
    path.rename(path.with_name("kept"))
    path.touch()


@pytest.mark.parametrize("remove", [removed_folder, removed_segment, replaced_segment])
def test_nothing_counts_as_kept_in_a_file_that_has_lost_its_name(disk: Disk, remove: Callable[[Disk], None]) -> None:
    records = [put_record(item(1))]
    disk.journal.append(records[0], force=True)
    remove(disk)
    records.append(put_record(item(2)))
    with pytest.raises(OSError, match="removed or replaced"):
        disk.journal.append(records[1], force=True)
    assert disk.journal.broken
    disk.journal.rewrite(lambda: records)
    with pytest.raises(Conflict):
        Journal(disk.directory, disk.ears)
    disk.journal.append(put_record(item(3)), force=True)
    assert disk.restart().keys() == {1, 2, 3}
    assert disk.directory.stat().st_mode & 0o777 == 0o700


def test_a_removed_file_is_noticed_without_a_result(disk: Disk) -> None:
    disk.journal.check_files()
    removed_folder(disk)
    with pytest.raises(OSError, match="removed or replaced"):
        disk.journal.check_files()
    assert disk.journal.broken


def test_a_removed_lock_is_taken_again(disk: Disk) -> None:
    (disk.directory / "lock").unlink()
    disk.journal.append(put_record(item(1)), force=True)
    with pytest.raises(Conflict):
        Journal(disk.directory, disk.ears)
    assert disk.restart().keys() == {1}


def test_a_folder_that_another_process_has_taken_is_left_to_it(disk: Disk) -> None:
    records = [put_record(item(1))]
    removed_folder(disk)
    other = Journal(disk.directory, disk.ears)
    other.recover()
    other.append(put_record(item(7)), force=True)
    with pytest.raises(OSError, match="removed or replaced"):
        disk.journal.append(records[0], force=True)
    with pytest.raises(OSError, match="Another executor uses"):
        disk.journal.rewrite(lambda: records)
    assert disk.journal.broken
    other.close()
    disk.journal.rewrite(lambda: records)
    assert disk.restart().keys() == {1, 7}, "what the other one left is not removed"


def test_a_lock_that_another_process_has_taken_breaks_the_journal(disk: Disk) -> None:
    (disk.directory / "lock").unlink()
    other = Journal(disk.directory, disk.ears)
    with pytest.raises(OSError, match="Another executor uses"):
        disk.journal.append(put_record(item(1)), force=True)
    assert disk.journal.broken
    other.close()


def test_a_forked_child_neither_holds_the_lock_nor_opens_it(disk: Disk) -> None:
    with forked():
        with pytest.raises(Conflict):
            Journal(disk.directory, disk.ears)
        disk.journal.append(put_record(item(1)), force=True)
        assert disk.restart() == {1: item(1)}
