from hypothesis import given
from hypothesis import strategies as st

from orth.domain.executions import EXECUTOR_MESSAGE_LIMIT, came_cut, cut
from orth.executor.handlers import Handlers
from orth.executor.journal import put_record
from orth.executor.results import Result
from orth.executor.room import BYTE_LIMIT, COMMON, COUNT_LIMIT, SHARE, Room
from tests.executor.bench import NOON
from tests.executor.conftest import MakeRig


def result(message: str) -> Result:
    return Result(
        job_id=2**31 - 1,
        log_id=2**63 - 1,
        log_date_time=NOON,
        handle_code=500,
        handle_msg=message,
        start_time=NOON,
        incarnation="f" * 64,
        final=True,
        report_key="a" * 64,
    )


def test_the_shares_of_all_and_the_common_room_are_the_cap() -> None:
    assert COUNT_LIMIT * SHARE + COMMON == BYTE_LIMIT


@given(letters=st.text(min_size=1, max_size=3), times=st.integers(1, EXECUTOR_MESSAGE_LIMIT // 3))
def test_without_common_room_every_result_fits_its_share(letters: str, times: int) -> None:
    given_result = result(letters * times)
    kept, record = Room(common=0).find(given_result)
    assert record == put_record(kept)
    assert len(record) <= SHARE
    assert kept is given_result or came_cut(kept.handle_msg)


def test_what_was_given_back_can_be_taken_again() -> None:
    room = Room(common=60_000)
    long = result("x" * 49_000)
    kept, record = room.find(long)
    assert kept is long
    assert room.is_scarce
    assert room.find(long)[0] is not long
    room.give_back(record)
    assert not room.is_scarce
    assert room.find(long)[0] is long


def test_what_was_cut_is_known_and_nothing_else() -> None:
    assert came_cut(cut("x" * 5000, 600))
    assert came_cut("x" * EXECUTOR_MESSAGE_LIMIT)
    assert not came_cut("x" * (EXECUTOR_MESSAGE_LIMIT - 1))


def test_the_log_has_all_of_a_result_that_found_no_room(app: Handlers, rig: MakeRig) -> None:
    app.job("wordy")(lambda ctx: "".join(f"{number}," for number in range(ctx.log_id)))
    ran = rig()
    ran.runtime.outbox._room = Room(common=1)  # as if others had taken it
    for log_id in (2000, 4000):
        ran.result(log_id, "wordy")
        reported = ran.waiting()[log_id].handle_msg
        assert "characters left out; the log has them all" in reported
        assert "".join(f"{number}," for number in range(log_id)) in ran.text(log_id).replace("\n", "")
