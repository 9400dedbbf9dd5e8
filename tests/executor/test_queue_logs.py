"""Logs as they are sent: whole lines, in order, once; of a very long one the beginning and the end."""

from pathlib import Path
from typing import Any

import pytest

from orth.channels.names import Names
from orth.clock import Clock, SystemClock
from orth.executor.queue_logs import ENDED_KEPT, LAST_LINES, WITH_RESULT, LogFeed
from orth.executor.queue_reports import LOG_BYTES, Outgoing, Taken, Worker
from orth.executor.run_logs import RunLogs
from orth.loop import Loop
from orth.wire.channel_messages import Dispatch, WantedLog
from tests.executor.bench import NOON, Ears, HandClock
from tests.executor.queue_bench import dispatch


class Bell(Loop):
    async def turn(self) -> float:
        return 1.0


class Desk:
    """A feed, its logs and what it has drafted."""

    def __init__(self, folder: Path, limit: int = 1024 * 1024, room: int = 10_000, clock: Clock | None = None) -> None:
        clock, ears = clock or SystemClock(), Ears()
        self.logs = RunLogs(folder, clock, ears)
        self.outgoing = Outgoing(Names(), Worker("rig:1", "this-process"), clock)
        self.feed = LogFeed(self.logs, self.outgoing, Bell(clock, ears), clock, ears, limit=limit, room=room)
        self.pieces: dict[int, list[dict[str, Any]]] = {}

    def begin(self, log_id: int) -> Taken:
        taken = Taken(Dispatch.model_validate(dispatch(log_id, "any", reportKey="ab" * 32)))
        self.feed.begin(taken)
        return taken

    def collect(self) -> None:
        while batch := self.outgoing.messages_of(self.outgoing.next_batch()):
            for messages in batch.values():
                for message in messages:
                    self.pieces.setdefault(message["executionId"], []).append(message)

    def lines(self, log_id: int) -> dict[int, str]:
        """What arrived, by the number of the line."""
        found: dict[int, str] = {}
        for piece in self.pieces.get(log_id, ()):
            for number, line in enumerate(piece["text"].split("\n"), piece["firstLine"]):
                assert number not in found, "a line came twice"
                found[number] = line
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_lines_are_sent_as_they_are_written_and_once(desk: Desk) -> None:
    taken = desk.begin(7)
    log = desk.logs.open(7, NOON)
    for round_ in range(3):
        log.write(f"line {round_}\nand another")
        await desk.feed.turn()
        desk.collect()
    assert [line.split(" ", 1)[1] for line in desk.lines(7).values()][:2] == ["line 0", "and another"]
    log.write("the last")
    log.close()
    desk.feed.end([taken])
    desk.collect()
    assert list(desk.lines(7)) == list(range(1, 8))
    assert [piece["seq"] for piece in desk.pieces[7]] == list(range(1, len(desk.pieces[7]) + 1))
    assert [bool(piece.get("end")) for piece in desk.pieces[7]][-1]
    await desk.feed.turn()
    assert len(desk.outgoing) == 0


async def test_one_without_a_log_ends_all_the_same(desk: Desk) -> None:
    desk.feed.end([desk.begin(7)])
    desk.collect()
    assert [(piece["text"], piece["end"]) for piece in desk.pieces[7]] == [("", True)]


async def test_a_result_does_not_wait_for_a_long_log(desk: Desk) -> None:
    taken = desk.begin(7)
    log = desk.logs.open(7, NOON)
    log.write("\n".join(["x" * 1000] * 900))
    log.close()
    desk.feed.end([taken])
    desk.collect()
    assert sum(len(piece["text"]) for piece in desk.pieces[7]) >= WITH_RESULT
    await desk.feed.turn()
    desk.collect()
    assert len(desk.lines(7)) == 900
    assert desk.pieces[7][-1].get("end")


async def test_of_a_very_long_log_the_middle_is_left_out(tmp_path: Path) -> None:
    desk = Desk(tmp_path, limit=100_000)
    taken = desk.begin(7)
    log = desk.logs.open(7, NOON)
    for number in range(1, 5001):
        log.write(f"{number} {'x' * 100}")
    await desk.feed.turn()
    log.write("the last")
    log.close()
    desk.feed.end([taken])
    await desk.feed.turn()
    desk.collect()
    numbers = list(desk.lines(7))
    assert numbers[0] == 1
    assert numbers[-LAST_LINES:] == list(range(5002 - LAST_LINES, 5002))
    assert len(numbers) < 3000
    assert desk.lines(7)[5001].endswith("the last")


async def test_files_are_read_no_faster_than_text_is_taken(tmp_path: Path) -> None:
    desk = Desk(tmp_path, limit=64 * 1024 * 1024)
    desk.begin(7)
    log = desk.logs.open(7, NOON)
    for _ in range(12):
        log.write("\n".join(["x" * 1000] * 1000))
    await desk.feed.turn()
    first = sum(
        len(message["text"]) for messages in desk.outgoing.messages_of(_all(desk)).values() for message in messages
    )
    assert first <= LOG_BYTES + 2 * 1024 * 1024
    for _ in range(4):
        await desk.feed.turn()
        desk.collect()
    assert first + sum(len(piece["text"]) for piece in desk.pieces[7]) > 12_000_000


def _all(desk: Desk) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while batch := desk.outgoing.next_batch():
        for box, drafts in batch.items():
            found.setdefault(box, []).extend(drafts)
    return found


async def test_not_every_log_that_ended_is_kept_in_mind(desk: Desk) -> None:
    desk.outgoing.add_lines(desk.begin(1), 1, "\n".join(["x" * 1024] * 4096), end=False)  # the channels take nothing
    for log_id in range(2, ENDED_KEPT + 200):
        desk.feed.end([desk.begin(log_id)])
    while desk.outgoing.next_batch():
        pass
    while desk.feed._grown:
        await desk.feed.turn()
        desk.collect()
    assert ENDED_KEPT - 1 <= len(desk.pieces) <= ENDED_KEPT + 1
    assert max(desk.pieces) == ENDED_KEPT + 199


@pytest.mark.parametrize(("room", "hours"), [(20, 1), (1_000, 8)])
async def test_a_log_that_grows_for_long_fits_its_box_to_the_last_line(tmp_path: Path, room: int, hours: int) -> None:
    clock = HandClock()
    desk = Desk(tmp_path, room=room, clock=clock)
    taken = desk.begin(7)
    log = desk.logs.open(7, NOON)
    for number in range(hours * 360):
        log.write(f"line {number}")
        clock.advance(10)
        await desk.feed.turn()
        desk.collect()
    log.write("the last")
    log.close()
    desk.feed.end([taken])
    await desk.feed.turn()
    desk.collect()
    assert 5 < len(desk.pieces[7]) < room * 3 // 4
    assert list(desk.lines(7)) == list(range(1, hours * 360 + 2))
    assert desk.pieces[7][-1]["end"]


async def test_when_most_of_the_box_is_used_up_the_last_lines_still_fit(tmp_path: Path) -> None:
    clock = HandClock()
    desk = Desk(tmp_path, room=8, clock=clock)
    taken = desk.begin(7)
    log = desk.logs.open(7, NOON)
    for number in range(1, 21):
        log.write("\n".join([f"line {number}"] * 20))
        clock.advance(2.0**number)  # so that it is always due
        await desk.feed.turn()
        desk.collect()
    log.write("the last")
    log.close()
    desk.feed.end([taken])
    await desk.feed.turn()
    desk.collect()
    numbers = list(desk.lines(7))
    assert len(desk.pieces[7]) <= 8
    assert numbers[-1] == 401
    assert len(numbers) < 401, "something was left out, and the numbers show it"
    assert desk.pieces[7][-1]["end"]


def wanted(log_id: int, from_line: int) -> WantedLog:
    return WantedLog(job_id=1, execution_id=log_id, log_time=NOON, from_line=from_line)


def nothing_runs(_log_id: int) -> bool:
    return False


async def test_what_did_not_arrive_is_sent_again_and_by_a_later_process_too(tmp_path: Path) -> None:
    first = Desk(tmp_path)
    taken = first.begin(7)
    log = first.logs.open(7, NOON)
    log.write("one\ntwo\nthree\nfour")
    log.close()
    first.feed.end([taken])
    first.collect()
    for desk in (first, Desk(tmp_path)):
        desk.pieces.clear()
        desk.feed.send_again([wanted(7, 3), wanted(8, 1)], nothing_runs)
        await desk.feed.turn()
        desk.collect()
        assert list(desk.lines(7)) == [3, 4]
        assert desk.pieces[7][-1]["end"]
        assert {piece["reportKey"] for piece in desk.pieces[7]} == {taken.report_key}
        assert 8 not in desk.pieces, "it is not here"
        await desk.feed.turn()
        assert len(desk.outgoing) == 0


async def test_what_did_not_arrive_of_a_log_that_grows_is_sent_again_with_the_rest(desk: Desk) -> None:
    taken = desk.begin(7)
    log = desk.logs.open(7, NOON)
    log.write("one\ntwo")
    await desk.feed.turn()
    desk.collect()
    desk.pieces.clear()
    desk.feed.send_again([wanted(7, 1)], lambda log_id: log_id == 7)
    log.write("three")
    log.close()
    desk.feed.end([taken])
    desk.collect()
    assert list(desk.lines(7)) == [1, 2, 3]
    assert [piece.get("end") for piece in desk.pieces[7]][-1]


async def test_what_was_left_out_on_purpose_is_told_from_what_got_lost(tmp_path: Path) -> None:
    desk = Desk(tmp_path, limit=100_000)
    taken = desk.begin(7)
    log = desk.logs.open(7, NOON)
    for number in range(1, 5001):
        log.write(f"{number} {'x' * 100}")
    log.close()
    desk.feed.end([taken])
    await desk.feed.turn()
    desk.collect()
    last, before = desk.pieces[7][-1], desk.pieces[7][-2]
    assert last["firstLine"] == 5001 - LAST_LINES
    assert last["follows"] == before["firstLine"] + before["text"].count("\n")
    assert not any("follows" in piece for piece in desk.pieces[7][:-1])


async def test_no_more_is_sent_again_at_once_than_is_kept_in_mind(desk: Desk) -> None:
    for log_id in range(1, ENDED_KEPT + 3):
        log = desk.logs.open(log_id, NOON)
        log.write("a line")
        log.close()
    desk.feed.send_again([wanted(log_id, 1) for log_id in range(1, ENDED_KEPT + 3)], nothing_runs)
    while desk.feed._grown:
        await desk.feed.turn()
        desk.collect()
    assert len(desk.pieces) == ENDED_KEPT
