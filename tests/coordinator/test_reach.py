"""What a coordinator thinks of addresses, and what changes its mind."""

import pytest

from orth.coordinator.facts import ExecutorReachable, ExecutorSuspected, ExecutorUnreachable
from orth.coordinator.reach import Reach
from orth.domain.nodes import Reachability
from orth.events import Events
from orth.loop import Loop
from orth.testing import ManualClock, Recorder
from orth.wire.executor_link import AnswerUnknown, NotAnExecutor, NotSent

A, B, C = "http://10.0.0.1:9999", "http://10.0.0.2:9999", "http://10.0.0.3:9999"


class Sleeper(Loop):
    """A loop that only counts how often it is woken."""

    woken = 0

    async def turn(self) -> float:
        return 60.0

    def wake(self) -> None:
        self.woken += 1


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def reach(clock: ManualClock, recorder: Recorder) -> Reach:
    return Reach(clock, Events(recorder))


def facts(recorder: Recorder) -> list[type]:
    return [type(event) for event in recorder.heard]


def test_nobody_is_avoided_without_a_reason(reach: Reach) -> None:
    assert reach.avoid((A, B)) == (A, B)
    assert reach.state(A) is Reachability.UNTRIED
    reach.answered(A)
    assert reach.state(A) is Reachability.REACHABLE
    assert reach.avoid([B, A]) == (B, A)
    assert reach.unsaved == {}, "that all is well need not be stored"


def test_one_refused_call_is_enough_to_be_avoided(reach: Reach, recorder: Recorder) -> None:
    reach.refused(A, "connection refused")
    assert reach.avoid((C, A, B)) == (C, B)
    assert reach.avoid((C, A + "/", B)) == (C, B)
    assert reach.state(A) is Reachability.SUSPECT
    reach.refused(A, "connection refused")
    reach.silent(A, "no answer")
    assert reach.state(A) is Reachability.SUSPECT, "only a probe confirms"
    assert facts(recorder) == [ExecutorSuspected]


def test_when_nobody_would_be_left_everybody_is_worth_trying(reach: Reach) -> None:
    for address in (A, B):
        reach.silent(address, "no answer")
    assert reach.avoid((A, B)) == (A, B)
    assert reach.avoid((A, B, C)) == (C,)
    assert reach.avoid(()) == ()


def test_a_probe_confirms_or_clears(reach: Reach, recorder: Recorder, clock: ManualClock) -> None:
    reach.silent(A, "no answer")
    suspected = clock.now()
    clock.move(1)
    reach.refused(A, "nobody", probed=True)
    assert reach.state(A) is Reachability.UNREACHABLE
    clock.move(1)
    reach.silent(A, "still nobody", probed=True)
    sight = reach.sight(A)
    assert sight is not None
    assert (sight.since, sight.checked_at, sight.reason) == (suspected + 1000, suspected + 2000, "still nobody")
    reach.answered(A)
    assert reach.avoid((A, B)) == (A, B)
    assert facts(recorder) == [ExecutorSuspected, ExecutorUnreachable, ExecutorReachable]


def test_a_beat_clears_a_suspicion_of_silence_but_not_a_refusal(reach: Reach, clock: ManualClock) -> None:
    loop = Sleeper(clock, Events())
    reach.wakes.append(loop)
    reach.silent(A, "no answer")
    reach.refused(B, "refused")
    reach.questions.clear()
    for address in (A, B, C):
        reach.heard(address)
    assert (reach.state(A), reach.state(B), reach.state(C)) == (
        Reachability.REACHABLE,
        Reachability.SUSPECT,
        Reachability.UNTRIED,
    )
    assert reach.questions == {B}, "it is probed instead, at once"
    assert loop.woken == 3


def test_a_beat_of_one_that_a_probe_could_not_reach_is_a_reason_to_probe_again(reach: Reach) -> None:
    reach.silent(A, "no answer")
    reach.silent(A, "no answer", probed=True)
    reach.questions.clear()
    reach.heard(A)
    assert reach.state(A) is Reachability.UNREACHABLE
    assert reach.questions == {A}


def test_only_a_yes_clears_what_a_probe_found_unfit(reach: Reach) -> None:
    reach.unfit(A, "it answers, and says: shutting down", probed=True)
    reach.silent(B, "no answer")
    reach.questions.clear()
    reach.heard(A)
    reach.spoke(A)
    assert reach.state(A) is Reachability.SUSPECT, "neither a beat nor a refusal says that it takes work"
    assert reach.questions == {A}, "it is probed at once"
    reach.spoke(B)
    reach.spoke(C)
    assert (reach.state(B), reach.state(C)) == (Reachability.REACHABLE,) * 2, "these are not silent"
    reach.answered(A)
    assert reach.state(A) is Reachability.REACHABLE


def test_one_that_takes_triggers_is_not_avoided_for_what_it_says_to_probes(reach: Reach, recorder: Recorder) -> None:
    unknown, stopping = "it answers, and says: unknown path", "it answers, and says: shutting down"
    reach.unfit(A, unknown, probed=True)
    reach.took(A)
    for _ in range(3):
        reach.unfit(A, unknown, probed=True)
    assert reach.state(A) is Reachability.REACHABLE
    assert facts(recorder) == [ExecutorSuspected, ExecutorReachable]
    reach.unfit(A, stopping, probed=True)
    assert reach.state(A) is Reachability.SUSPECT, "that is something else"
    reach.unfit(A, unknown, probed=True)
    assert reach.state(A) is Reachability.REACHABLE
    reach.refused(A, "nobody", probed=True)
    reach.unfit(A, unknown, probed=True)
    assert reach.state(A) is Reachability.UNREACHABLE, "whoever is there now has taken nothing"


def test_a_good_answer_to_a_trigger_excuses_nothing_that_comes_later(reach: Reach) -> None:
    reach.took(A)
    reach.unfit(A, "HTTP 503", probed=True)
    assert reach.state(A) is Reachability.SUSPECT


def test_what_has_to_be_stored(reach: Reach) -> None:
    reach.refused(A, "refused")
    assert reach.unsaved == {A: reach.sight(A)}
    reach.answered(A)
    assert reach.unsaved == {A: None}
    reach.unsaved.clear()
    reach.silent(B, "x" * 300)
    reach.unsaved.clear()
    reach.doubt_again()
    assert reach.unsaved == {B: reach.sight(B)}
    reach.forget(B)
    reach.forget(C)
    assert reach.unsaved == {B: None}
    assert reach.avoid((B, C)) == (B, C)
    assert reach.suspects() == ()


def test_how_a_call_failed_says_what_to_think(reach: Reach) -> None:
    try:
        raise NotSent("nobody there") from ConnectionRefusedError()
    except NotSent as error:
        reach.failed(A, error)
    try:
        raise NotSent("no connection in time") from TimeoutError()
    except NotSent as error:
        reach.failed(B, error)
    reach.failed(C, AnswerUnknown("no answer"))
    sights = [reach.sight(address) for address in (A, B, C)]
    assert [sight.refused for sight in sights if sight] == [True, False, False]
    assert sights[0] is not None
    assert sights[0].reason == "nobody there"
    reach.failed(B, NotAnExecutor(B, 503, None))
    assert [sight.unfit for sight in map(reach.sight, (A, B, C)) if sight] == [False, True, False]


def test_one_that_knows_no_probes_is_not_avoided_until_it_declines_a_trigger(reach: Reach, clock: ManualClock) -> None:
    page = NotAnExecutor(A, 404, "no such page")
    for _ in range(3):
        reach.failed(A, page, probed=True, excusable=True)
    assert reach.state(A) is Reachability.REACHABLE
    reach.declined(A)
    reach.failed(A, page, probed=True, excusable=True)
    assert reach.avoid([A, B]) == (B,), "neither a probe nor a trigger says that it is an executor"
    clock.move(61)
    reach.failed(A, page, probed=True, excusable=True)
    assert reach.avoid([A, B]) == (A, B), "it is tried once more"
    reach.took(A)
    reach.failed(A, page, probed=True, excusable=True)
    assert reach.state(A) is Reachability.REACHABLE


def test_a_page_counts_where_a_probe_was_once_answered_with_yes(reach: Reach) -> None:
    reach.answered(A)
    reach.failed(A, NotAnExecutor(A, 503, "no backend"), probed=True, excusable=True)
    assert reach.state(A) is Reachability.SUSPECT
    reach.failed(B, NotAnExecutor(B, 503, "no backend"), probed=True)
    assert reach.state(B) is Reachability.SUSPECT, "ours know what a probe is"
