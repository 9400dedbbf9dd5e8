"""Planning is pure: a job, a schedule, an instant and bounds go in, decisions come out."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.coordinator.planning import Bounds, Plan, given_up, plan, within
from orth.domain.calendars import Calendar
from orth.domain.jobs import Job, MisfireStrategy, ScheduleType, TriggerCause
from orth.domain.schedules import Schedule, parse_schedule

BOUNDS = Bounds(misfire_threshold=5_000, catch_up_limit=10, catch_up_age=3_600_000)
T0 = 1_769_767_200_000  # 2026-01-30 10:00:00 UTC, a Friday
MINUTE = 60_000


def job(conf: str = "0 * * * * ?", kind: ScheduleType = ScheduleType.CRON, **fields: object) -> Job:
    values: dict[str, object] = {"trigger_next_time": T0, "due_time": T0, "trigger_status": True, **fields}
    return Job(id=7, job_group=1, job_desc="x", schedule_type=kind, schedule_conf=conf, **values)  # type: ignore[arg-type]


def schedule(of: Job, calendar: Calendar | None = None) -> Schedule:
    return parse_schedule(of.schedule_type, of.schedule_conf, jitter=of.jitter, key=of.id, calendar=calendar)


def planned(of: Job, now: int, calendar: Calendar | None = None) -> Plan:
    return plan(of, schedule(of, calendar), now, BOUNDS)


def test_a_fire_on_time_runs_and_the_schedule_advances() -> None:
    result = planned(job(), T0 + 20)
    assert [(run.fire_time, run.cause) for run in result.runs] == [(T0, TriggerCause.CRON)]
    assert (result.last_fire, result.next_fire, result.due_time, result.running) == (T0, T0 + MINUTE, T0 + MINUTE, True)
    assert [(d.fire_time, d.decision) for d in result.decisions] == [(T0, "run")]


def test_runs_beyond_what_is_left_are_skipped_as_one_span() -> None:
    whole = planned(job("* * * * * ?"), T0 + 3_500)
    assert within(whole, 4, "enough") is whole
    cut = within(whole, 1, "enough")
    assert [run.fire_time for run in cut.runs] == [T0]
    told = [(one.fire_time, one.last_time, one.fires, one.decision, one.reason) for one in cut.decisions]
    assert told == [(T0, T0, 1, "run", ""), (T0 + 1000, T0 + 3000, 3, "skipped", "enough")]
    assert (cut.last_fire, cut.next_fire, cut.running) == (whole.last_fire, whole.next_fire, True)
    assert within(whole, 0, "enough").runs == ()


def test_a_little_late_is_still_on_time() -> None:
    result = planned(job(), T0 + BOUNDS.misfire_threshold)
    assert [run.cause for run in result.runs] == [TriggerCause.CRON]


def test_every_fire_within_the_threshold_runs() -> None:
    result = planned(job("* * * * * ?"), T0 + 3_500)
    assert [run.fire_time for run in result.runs] == [T0, T0 + 1000, T0 + 2000, T0 + 3000]


def test_missed_fires_are_skipped_with_a_reason() -> None:
    result = planned(job(), T0 + 10 * MINUTE + 30_000)
    assert result.runs == ()
    (decision,) = result.decisions
    assert (decision.decision, decision.fire_time, decision.last_time) == ("skipped", T0, T0 + 10 * MINUTE)
    assert decision.fires == 11
    assert "630.0 s late" in decision.reason
    assert result.next_fire == T0 + 11 * MINUTE


def test_a_missed_span_and_a_fire_on_time_are_told_apart() -> None:
    result = planned(job(), T0 + 10 * MINUTE + 100)
    assert [run.fire_time for run in result.runs] == [T0 + 10 * MINUTE]
    assert [(d.decision, d.fires) for d in result.decisions] == [("skipped", 10), ("run", 1)]


def test_fire_once_now_runs_the_newest_and_coalesces_the_rest() -> None:
    late = job(misfire_strategy=MisfireStrategy.FIRE_ONCE_NOW)
    result = planned(late, T0 + 10 * MINUTE + 30_000)
    assert [(run.fire_time, run.cause) for run in result.runs] == [(T0 + 10 * MINUTE, TriggerCause.MISFIRE)]
    assert [(d.decision, d.fire_time, d.last_time, d.fires) for d in result.decisions] == [
        ("coalesced", T0, T0 + 9 * MINUTE, 10),
        ("run", T0 + 10 * MINUTE, T0 + 10 * MINUTE, 1),
    ]


def test_fire_all_is_bounded_by_count() -> None:
    late = job(misfire_strategy=MisfireStrategy.FIRE_ALL)
    result = planned(late, T0 + 30 * MINUTE + 30_000)
    assert [run.fire_time for run in result.runs] == [T0 + n * MINUTE for n in range(21, 31)]
    skipped = result.decisions[0]
    assert (skipped.decision, skipped.fire_time, skipped.last_time, skipped.fires) == (
        "skipped",
        T0,
        T0 + 20 * MINUTE,
        21,
    )
    assert "catch-up bounds" in skipped.reason


def test_fire_all_is_bounded_by_age() -> None:
    late = job("0 0 * * * ?", misfire_strategy=MisfireStrategy.FIRE_ALL)
    result = planned(late, T0 + 5 * 60 * MINUTE + 30_000)
    assert [run.fire_time for run in result.runs] == [T0 + 5 * 60 * MINUTE]


def test_a_year_of_seconds_is_jumped_over_not_walked() -> None:
    calls = 0

    class Counting:
        repeats_by_clock = True

        def __init__(self, inner: Schedule) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> object:
            nonlocal calls
            calls += 1
            return getattr(self._inner, name)

    late = job("* * * * * ?", misfire_strategy=MisfireStrategy.FIRE_ONCE_NOW)
    result = plan(late, Counting(schedule(late)), T0 + 365 * 86_400_000, BOUNDS)  # type: ignore[arg-type]
    assert len(result.runs) <= BOUNDS.catch_up_limit
    assert result.decisions[0].fires is None  # more than were worth counting
    assert calls < 200


def test_fix_delay_waits_for_the_end() -> None:
    result = planned(job("30s", ScheduleType.FIX_DELAY), T0 + 5)
    assert [run.cause for run in result.runs] == [TriggerCause.FIXED_DELAY]
    assert (result.next_fire, result.due_time, result.running) == (0, 0, True)


def test_fix_delay_that_was_missed_waits_from_now() -> None:
    result = planned(job("30s", ScheduleType.FIX_DELAY), T0 + 60_000)
    assert result.runs == ()
    assert result.next_fire == T0 + 90_000


def test_an_instant_fires_once_and_the_job_stops() -> None:
    result = planned(job("2026-01-30T10:00:00Z", ScheduleType.AT), T0 + 5)
    assert [run.fire_time for run in result.runs] == [T0]
    assert (result.next_fire, result.running) == (0, False)


def test_a_missed_instant_is_told() -> None:
    result = planned(job("2026-01-30T10:00:00Z", ScheduleType.AT), T0 + 60_000)
    assert [d.decision for d in result.decisions] == ["skipped"]
    assert not result.running


def test_a_calendar_skips_a_fire_and_says_so() -> None:
    weekend = Calendar.parse({"weekdays": [6, 7]})
    result = planned(job(), T0 + 5, weekend)
    assert result.runs == ()
    (decision,) = result.decisions
    assert decision.decision == "skipped"
    assert decision.reason


def test_fire_once_now_looks_for_a_day_the_calendar_admits() -> None:
    monday_to_friday = Calendar.parse({"weekdays": [1, 2, 3, 4, 5]})
    late = job("0 0 10 * * ?", misfire_strategy=MisfireStrategy.FIRE_ONCE_NOW)
    sunday_noon = T0 + 2 * 86_400_000 + 7_200_000
    result = planned(late, sunday_noon, monday_to_friday)
    assert [run.fire_time for run in result.runs] == [T0]
    (_run, weekend) = result.decisions
    assert (weekend.decision, weekend.fires, weekend.reason) == ("skipped", 2, "missed, and refused by the calendar")


def test_what_is_due_when_a_job_is_stopped_is_accounted_for() -> None:
    started = job()
    late = given_up(started, schedule(started), T0 + 150_000, "stopped")
    assert late is not None
    assert (late.fire_time, late.last_time, late.fires, late.reason) == (T0, T0 + 2 * MINUTE, 3, "stopped")
    assert given_up(started, schedule(started), T0 - 1, "stopped") is None
    assert given_up(replace(started, trigger_status=False), schedule(started), T0 + 5, "stopped") is None
    waiting = job("30s", ScheduleType.FIX_DELAY)
    alone = given_up(waiting, schedule(waiting), T0 + 5, "stopped")
    assert alone is not None
    assert (alone.fire_time, alone.fires) == (T0, 1)


@pytest.mark.parametrize("jitter", [0, 40_000])
def test_jitter_moves_the_due_time_not_the_fire(jitter: int) -> None:
    first = job(jitter=jitter)
    due = schedule(first).due_at(T0)
    assert T0 <= due <= T0 + jitter
    assert planned(replace(first, due_time=due), due).runs[0].fire_time == T0


RATES = ["1s", "7s", "500ms", "1m", "2h"]


@given(
    rate=st.sampled_from(RATES),
    late=st.integers(0, 3 * 86_400_000),
    strategy=st.sampled_from(MisfireStrategy),
    jitter=st.sampled_from([0, 300]),
    days=st.sampled_from([None, [1, 2, 3, 4, 5], [5], [7]]),
)
def test_every_due_fire_is_decided_exactly_once(
    rate: str, late: int, strategy: MisfireStrategy, jitter: int, days: list[int] | None
) -> None:
    """Over repeated passes, decisions tile the fires: no gap, no overlap, never early, and they end."""
    current = job(rate, ScheduleType.FIX_RATE, misfire_strategy=strategy, jitter=jitter)
    its = schedule(current, None if days is None else Calendar.parse({"weekdays": days}))
    first = its.next_after(T0 - 1)
    assert first is not None
    now = its.due_at(first) + late
    current = replace(current, trigger_next_time=first, due_time=its.due_at(first))
    expected = first
    for _ in range(2_000):
        result = plan(current, its, now, BOUNDS)
        for decision in result.decisions:
            assert decision.fire_time == expected
            assert its.due_at(decision.last_time) <= now
            if decision.fires is not None:
                assert its.count_between(decision.fire_time - 1, decision.last_time, 10_000) == decision.fires
            expected = its.next_after(decision.last_time) or 0
        runs = [d.fire_time for d in result.decisions if d.decision == "run"]
        assert runs == [run.fire_time for run in result.runs]
        assert result.next_fire == expected
        current = replace(current, trigger_next_time=result.next_fire, trigger_last_time=result.last_fire)
        if result.due_time > now:
            return
    raise AssertionError("planning does not catch up")
