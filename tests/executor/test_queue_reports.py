"""Drafts: what is sent, in which order, and what need not be."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from orth.channels.interface import START, ChannelsUnavailable, Message
from orth.channels.limits import Limits
from orth.channels.memory import MemoryChannels
from orth.channels.names import Names
from orth.clock import SystemClock
from orth.executor.facts import ReportsGivenUp
from orth.executor.queue_reports import CUT_LINE, LOG_BYTES, Outgoing, Reports, Taken, Worker, pieces_of
from orth.wire.channel_messages import Dispatch, Standing
from orth.wire.messages import CallbackItem
from tests.executor.bench import Ears, HandClock
from tests.executor.queue_bench import dispatch

NAMES = Names()


def taken(log_id: int, job_id: int = 1) -> Taken:
    return Taken(Dispatch.model_validate(dispatch(log_id, "any", job_id=job_id)))


@pytest.fixture
def outgoing(clock: HandClock) -> Outgoing:
    return Outgoing(NAMES, Worker("rig:1", "this-process"), clock)


def said(outgoing: Outgoing) -> dict[str, list[tuple[str, int]]]:
    found = outgoing.messages_of(outgoing.next_batch())
    return {box: [(message["status"], message["seq"]) for message in messages] for box, messages in found.items()}


def test_of_a_short_execution_only_the_end_is_said(outgoing: Outgoing) -> None:
    one = taken(7)
    outgoing.tell(one, Standing.ACCEPTED)
    outgoing.tell(one, Standing.RUNNING)
    outgoing.tell(one, Standing.PROGRESS, progress={"done": 1})
    outgoing.tell(one, Standing.COMPLETED, result=CallbackItem(log_id=7, handle_code=200))
    assert said(outgoing) == {NAMES.status(1, 7): [("Completed", 1)]}
    assert said(outgoing) == {}


def test_it_is_not_said_to_wait_once_it_runs(outgoing: Outgoing) -> None:
    one = taken(7)
    outgoing.tell(one, Standing.RUNNING)
    outgoing.tell(one, Standing.ACCEPTED)
    assert said(outgoing) == {NAMES.status(1, 7): [("Running", 1)]}
    outgoing.tell(one, Standing.ACCEPTED)
    assert said(outgoing) == {}


def test_of_progress_only_the_newest_is_said(outgoing: Outgoing) -> None:
    one = taken(7)
    for standing in (Standing.ACCEPTED, Standing.RUNNING, Standing.PROGRESS, Standing.PROGRESS):
        outgoing.tell(one, standing)
    assert said(outgoing) == {NAMES.status(1, 7): [("Running", 1), ("Progress", 2)]}
    outgoing.tell(one, Standing.PROGRESS)
    outgoing.tell(one, Standing.FAILED)
    assert said(outgoing) == {NAMES.status(1, 7): [("Failed", 3)]}


def test_what_was_put_back_keeps_its_number_and_its_place(outgoing: Outgoing) -> None:
    one, other = taken(7), taken(8)
    outgoing.tell(one, Standing.RUNNING)
    outgoing.tell(other, Standing.RUNNING)
    outgoing.put_back(outgoing.next_batch())
    outgoing.tell(one, Standing.COMPLETED)
    assert said(outgoing) == {
        NAMES.status(1, 8): [("Running", 1)],
        NAMES.status(1, 7): [("Running", 1), ("Completed", 2)],
    }


def test_what_was_judged_is_not_said_any_more(outgoing: Outgoing) -> None:
    one = taken(7)
    outgoing.tell(one, Standing.COMPLETED)
    outgoing.add_lines(one, 1, "text", end=True)
    outgoing.forget([one])
    assert list(outgoing.next_batch()) == [NAMES.logs(1, 7)]


def test_there_is_an_end_to_the_text_that_waits(outgoing: Outgoing) -> None:
    one = taken(7)
    for line in range(4):
        assert not outgoing.is_full
        outgoing.add_lines(one, line + 1, "x" * (LOG_BYTES // 4), end=False)
    assert outgoing.is_full
    batch = outgoing.next_batch()
    assert not outgoing.is_full
    outgoing.put_back(batch)
    assert outgoing.is_full


class Choosy(MemoryChannels):
    """Takes nothing for some boxes, or for all of them."""

    def __init__(self) -> None:
        super().__init__(SystemClock())
        self.full: set[str] = set()
        self.away = False

    async def post(self, boxes: Mapping[str, Sequence[Message]]) -> None:
        if self.away or self.full & boxes.keys():
            raise ChannelsUnavailable("no room")
        await super().post(boxes)

    async def statuses(self, box: str) -> list[Any]:
        return [entry.message["status"] for entry in (await self.read({box: START}, limit=100)).get(box, ())]


@pytest.mark.parametrize("full", [7, 8, 9])
async def test_a_full_box_does_not_keep_back_the_others(outgoing: Outgoing, ears: Ears, full: int) -> None:
    channels = Choosy()
    channels.full = {NAMES.status(1, full)}
    reports = Reports(channels, outgoing, SystemClock(), ears)
    for log_id in (7, 8, 9):
        outgoing.tell(taken(log_id), Standing.RUNNING)
    for _ in range(2):
        try:
            await reports.hurry()
        except ChannelsUnavailable:
            continue
    posted = {log_id for log_id in (7, 8, 9) if await channels.statuses(NAMES.status(1, log_id))}
    assert posted == {7, 8, 9} - {full}
    assert len(outgoing) == 0
    assert [given_up.count for given_up in ears.of(ReportsGivenUp)] == [1]


async def test_while_the_channels_are_away_everything_waits(outgoing: Outgoing, ears: Ears) -> None:
    channels = Choosy()
    channels.away = True
    reports = Reports(channels, outgoing, SystemClock(), ears)
    one = taken(7)
    outgoing.tell(one, Standing.ACCEPTED)
    for standing in (Standing.RUNNING, Standing.FAILED):
        with pytest.raises(ChannelsUnavailable):
            await reports.hurry()
        outgoing.tell(one, standing)
    channels.away = False
    await reports.hurry()
    assert await channels.statuses(NAMES.status(1, 7)) == ["Accepted", "Running", "Failed"]


async def words_of(channels: MemoryChannels, box: str) -> list[Message]:
    return [entry.message for entry in (await channels.read({box: START}, limit=10_000)).get(box, ())]


@pytest.mark.parametrize(("limit", "most"), [(10_000, 700), (20, 13)])
async def test_progress_for_a_month_leaves_room_for_the_end(
    ears: Ears, clock: HandClock, limit: int, most: int
) -> None:
    limits = Limits(box=limit)
    channels = MemoryChannels(clock, limits)
    outgoing = Outgoing(NAMES, Worker("rig:1", "this-process"), clock, limits)
    reports = Reports(channels, outgoing, clock, ears)
    one = taken(7)
    for standing in (Standing.ACCEPTED, Standing.RUNNING):
        outgoing.tell(one, standing)
        await reports.hurry()
    for _ in range(100_000):
        outgoing.tell(one, Standing.PROGRESS, progress={"done": 1})
        clock.advance(26)
        if len(outgoing):
            await reports.hurry()
    outgoing.tell(one, Standing.COMPLETED, result=CallbackItem(log_id=7, handle_code=200))
    await reports.hurry()
    words = await words_of(channels, NAMES.status(1, 7))
    assert 5 < len(words) <= most
    assert words[-1]["status"] == "Completed"
    assert not ears.of(ReportsGivenUp)


async def test_one_draft_that_is_too_large_keeps_nobody_back(ears: Ears, clock: HandClock) -> None:
    channels = MemoryChannels(clock, Limits(message=5_000))
    outgoing = Outgoing(NAMES, Worker("rig:1", "this-process"), clock, Limits())  # it does not know better
    reports = Reports(channels, outgoing, clock, ears)
    outgoing.tell(taken(7), Standing.RUNNING)
    outgoing.tell(taken(8), Standing.PROGRESS, progress={"message": "x" * 6_000})
    outgoing.tell(taken(9), Standing.COMPLETED, result=CallbackItem(log_id=9, handle_code=200))
    await reports.hurry()
    statuses = [[word["status"] for word in await words_of(channels, NAMES.status(1, one))] for one in (7, 8, 9)]
    assert statuses == [["Running"], [], ["Completed"]]
    assert len(outgoing) == 0


async def test_the_last_words_find_room_where_all_of_them_do_not(ears: Ears, clock: HandClock) -> None:
    channels = MemoryChannels(clock, Limits(box=2))
    outgoing = Outgoing(NAMES, Worker("rig:1", "this-process"), clock)
    reports = Reports(channels, outgoing, clock, ears)
    one = taken(7)
    for line in range(1, 5):
        outgoing.add_lines(one, line, f"line {line}", end=line == 4)
    await reports.hurry()
    assert [word["firstLine"] for word in await words_of(channels, NAMES.logs(1, 7))] == [4]
    assert [given_up.count for given_up in ears.of(ReportsGivenUp)] == [3]
    assert len(outgoing) == 0


def test_results_that_do_not_fit_go_another_way(clock: HandClock) -> None:
    outgoing = Outgoing(NAMES, Worker("rig:1", "this-process"), clock, Limits(message=65_536))
    assert outgoing.has_room_for(CallbackItem(log_id=7, handle_code=200, handle_msg="x" * 50_000))
    assert not outgoing.has_room_for(CallbackItem(log_id=7, handle_code=200, handle_msg="\x01" * 50_000))


@pytest.mark.parametrize("line", ["z" * 100, "\x01" * 100, "\U0001f600" * 100, ""])
async def test_pages_of_log_are_cut_to_what_a_message_holds(ears: Ears, clock: HandClock, line: str) -> None:
    limits = Limits(message=16_384)
    channels = MemoryChannels(clock, limits)
    outgoing = Outgoing(NAMES, Worker("rig:1", "this-process"), clock, limits)
    text = "\n".join([line] * 3_000)
    outgoing.add_lines(taken(7), 5, text, end=True)
    await Reports(channels, outgoing, clock, ears).hurry()
    pieces = await words_of(channels, NAMES.logs(1, 7))
    assert "\n".join(piece["text"] for piece in pieces) == text
    at = 5
    for piece in pieces:
        assert piece["firstLine"] == at
        at += piece["text"].count("\n") + 1
    assert [bool(piece.get("end")) for piece in pieces] == [False] * (len(pieces) - 1) + [True]


def test_of_a_line_that_no_message_holds_the_beginning_is_sent() -> None:
    pieces = pieces_of(1, "a\n" + "y" * 40_000 + "\nb", 10_000)
    lines = "\n".join(text for _, text in pieces).split("\n")
    assert (lines[0], lines[2]) == ("a", "b")
    assert lines[1].startswith("yyy")
    assert lines[1].endswith(CUT_LINE)
