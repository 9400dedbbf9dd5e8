import time
from email.utils import formatdate

import pytest

from orth.clock import SystemClock
from orth.doctor import State
from orth.doctor.clocks import Offset, judge_offset, look_at_clock
from tests.doctor.places import at, only, serving


class Shifted(SystemClock):
    """This machine's clock, ``seconds`` off."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def now(self) -> int:
        return super().now() + round(self._seconds * 1000)


def now_page(ahead: float) -> dict[str, object]:
    return {"status": "alive", "now": round((time.time() + ahead) * 1000)}


@pytest.mark.parametrize(
    ("seconds", "doubt", "state"),
    [
        (0.0, 0.001, State.OK),
        (-0.9, 0.001, State.OK),
        (1.1, 0.001, State.WARN),
        (-1.1, 0.2, State.OK),
        (29.0, 0.1, State.WARN),
        (-31.0, 0.1, State.BAD),
    ],
)
def test_only_what_exceeds_the_doubt_counts(seconds: float, doubt: float, state: State) -> None:
    assert judge_offset("http://there", Offset(seconds, doubt)).state is state


def test_the_side_is_told() -> None:
    assert "5.000 s ahead of this one" in judge_offset("http://there", Offset(5.0, 0.01)).what
    assert "5.000 s behind this one" in judge_offset("http://there", Offset(-5.0, 0.01)).what


def test_a_coordinator_with_the_same_time_and_one_with_another() -> None:
    with serving({"/health/live": now_page(0.5)}) as place:
        verdict = only(look_at_clock(at(place.url), place.url), State.OK)
        assert "ahead of" in verdict.what
        late = at(place.url, clock=Shifted(-100.0))
        assert "ahead of" in only(look_at_clock(late, place.url), State.BAD).what
        early = at(place.url, clock=Shifted(7.0))
        assert "behind" in only(look_at_clock(early, place.url), State.WARN).what


def test_the_date_header_is_enough_for_what_is_far_off() -> None:
    date = {"Date": formatdate(time.time() + 3600, usegmt=True)}
    with serving({"/health/live": {"status": "alive"}}, headers=date) as place:
        verdict = only(look_at_clock(at(place.url, clock=Shifted(3600.0)), place.url), State.OK)
        assert "± 1.5" in verdict.what
        only(look_at_clock(at(place.url), place.url), State.BAD)


def test_no_time_and_no_answer(free_port: int) -> None:
    with serving({"/health/live": {"now": "soon"}}, headers={"Date": "someday"}) as place:
        assert "does not say its time" in only(look_at_clock(at(place.url), place.url), State.WARN).what
    url = f"http://127.0.0.1:{free_port}"
    assert "not looked at" in only(look_at_clock(at(url), url), State.WARN).what
