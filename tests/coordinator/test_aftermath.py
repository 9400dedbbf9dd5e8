"""What follows from an end: pure, so every case is a line."""

from dataclasses import replace
from typing import Any

import pytest

from orth.coordinator.aftermath import (
    FollowUp,
    LeaveChildren,
    LoseChildren,
    RunAgain,
    StartChildren,
    WaitAgain,
    failed_for_good,
    follow_up,
)
from orth.domain import reasons
from orth.domain.broadcasts import Tally
from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT, Execution, Phase
from orth.domain.jobs import ChildParam, Job, ScheduleType, TriggerCause
from orth.domain.retries import RetryPolicy, chance_of

ALONE = Tally(succeeded=1)


def a_job(**changes: Any) -> Job:
    return replace(Job(id=1, job_group=1, job_desc="j", executor_handler="h"), **changes)


def ended(handle_code: int = SUCCESS, trigger_code: int = SUCCESS, **changes: Any) -> Execution:
    execution = Execution(
        id=7,
        job_id=1,
        job_group=1,
        cause=TriggerCause.CRON,
        trigger_code=trigger_code,
        handle_code=handle_code,
        phase=Phase.ENDED,
        schedule_time=1000,
        trigger_time=1000,
    )
    return replace(execution, **changes)


CHILDREN = a_job(child_job_ids=(2, 3))
PER_SHARD = replace(CHILDREN, child_per_shard=True)
DELAY = a_job(schedule_type=ScheduleType.FIX_DELAY, schedule_conf="5")
SHARD = ended(broadcast_id=9, shard_total=3)
AGAIN = ended(shard_total=3)
PASSING = replace(CHILDREN, child_param=ChildParam.RESULT)
PAUSED = a_job(retry_policy=RetryPolicy(delay=10, multiplier=3))
NOT_LATE = a_job(retry_policy=RetryPolicy(give_up=("timeout",), codes=(404,)))
BAD_SHARD = ended(FAILURE, broadcast_id=9, shard_total=3)

CASES: list[tuple[str, Job, Execution, Tally | None, list[FollowUp]]] = [
    ("success alone", a_job(), ended(), ALONE, []),
    ("failed, no budget", a_job(), ended(FAILURE), Tally(failed=1), []),
    ("failed, with budget", CHILDREN, ended(FAILURE, retries_left=2, attempt=3), None, [RunAgain(1, 4)]),
    ("timed out, with budget", a_job(), ended(TIMED_OUT, retries_left=1), None, [RunAgain(0, 2)]),
    ("not taken, with budget", a_job(), ended(0, FAILURE, retries_left=1), None, [RunAgain(0, 2)]),
    ("success with budget left", a_job(), ended(retries_left=2), ALONE, []),
    ("parent", CHILDREN, ended(), ALONE, [StartChildren((2, 3), "parent:7")]),
    ("failed parent", CHILDREN, ended(FAILURE), Tally(failed=1), []),
    ("named itself", a_job(child_job_ids=(1, 2)), ended(), ALONE, [StartChildren((2,), "parent:7")]),
    ("only itself", a_job(child_job_ids=(1,)), ended(), ALONE, []),
    ("shard, others open", CHILDREN, SHARD, None, []),
    ("last shard", CHILDREN, SHARD, Tally(3, 0), [StartChildren((2, 3), "parent:broadcast:9")]),
    ("last shard, one failed", CHILDREN, SHARD, Tally(2, 1), [LeaveChildren((2, 3), 2, 1)]),
    ("last shard failed", CHILDREN, BAD_SHARD, Tally(2, 1), [LeaveChildren((2, 3), 2, 1)]),
    ("last shard, no children", a_job(), SHARD, Tally(2, 1), []),
    ("per shard", PER_SHARD, SHARD, None, [StartChildren((2, 3), "parent:7")]),
    ("per shard, the last", PER_SHARD, SHARD, Tally(2, 1), [StartChildren((2, 3), "parent:7")]),
    ("per shard, failed", PER_SHARD, BAD_SHARD, None, []),
    ("a shard that was done again", CHILDREN, AGAIN, ALONE, []),
    ("per shard, done again", PER_SHARD, AGAIN, ALONE, [StartChildren((2, 3), "parent:7")]),
    ("parent with a result", PASSING, ended(), ALONE, [StartChildren((2, 3), "parent:7", True)]),
    ("broadcast with a result", PASSING, SHARD, Tally(3, 0), [StartChildren((2, 3), "parent:broadcast:9", True)]),
    ("after a pause", PAUSED, ended(FAILURE, retries_left=2), None, [RunAgain(1, 2, 10_000)]),
    ("after a longer one", PAUSED, ended(FAILURE, retries_left=1, attempt=3), None, [RunAgain(0, 4, 90_000)]),
    ("given up", NOT_LATE, ended(TIMED_OUT, retries_left=2), Tally(failed=1), []),
    ("given up by its code", NOT_LATE, ended(404, retries_left=2), Tally(failed=1), []),
    ("not given up", NOT_LATE, ended(FAILURE, retries_left=2), None, [RunAgain(1, 2)]),
    ("delay", DELAY, ended(), ALONE, [WaitAgain(1000)]),
    ("delay after failure", DELAY, ended(FAILURE), Tally(failed=1), [WaitAgain(1000)]),
    ("delay, retried", DELAY, ended(FAILURE, retries_left=1), None, [RunAgain(0, 2)]),
    ("delay, by hand", DELAY, ended(schedule_time=None), ALONE, []),
    ("delay, as a child", DELAY, ended(cause=TriggerCause.PARENT), ALONE, []),
    ("delay, shards open", DELAY, SHARD, None, []),
    ("moved", replace(PASSING, job_group=2), ended(), ALONE, [LoseChildren()]),
    ("moved, failed", replace(PASSING, job_group=2), ended(FAILURE), Tally(failed=1), []),
    ("moved, one shard failed", replace(CHILDREN, job_group=2), SHARD, Tally(2, 1), []),
    ("moved, with a delay", replace(DELAY, job_group=2), ended(), ALONE, [WaitAgain(1000)]),
    ("delay, last shard", DELAY, SHARD, Tally(2, 1), [WaitAgain(1000)]),
]


@pytest.mark.parametrize(("job", "execution", "whole", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_follows(job: Job, execution: Execution, whole: Tally | None, expected: list[FollowUp]) -> None:
    assert follow_up(job, execution, whole) == expected


@pytest.mark.parametrize(
    "code",
    [
        reasons.DISCARDED,
        reasons.SUPER_TASK_MISSING,
        reasons.DELETED,
        reasons.JOB_STOPPED,
        reasons.JOB_MOVED,
        reasons.KILLED,
        reasons.NEVER_RESOLVED,
    ],
)
def test_what_was_not_wanted_is_not_tried_again(code: str) -> None:
    execution = ended(0, FAILURE, retries_left=5, reason_code=code)
    assert follow_up(a_job(), execution, Tally(failed=1)) == []


def test_nothing_is_tried_again_in_another_group() -> None:
    """Nobody there agreed to what it was given."""
    execution = ended(FAILURE, retries_left=5)
    assert follow_up(a_job(job_group=2), execution, Tally(failed=1)) == []
    assert failed_for_good(a_job(job_group=2), execution)


def test_a_pause_with_jitter_is_the_same_whenever_it_is_computed() -> None:
    job = a_job(retry_policy=RetryPolicy(delay=10, jitter=0.5))
    (again,) = follow_up(job, ended(FAILURE, retries_left=1), None)
    assert isinstance(again, RunAgain)
    assert again.pause == round(10_000 * (1 - 0.5 * chance_of(7, 2)))
    assert follow_up(job, ended(FAILURE, retries_left=1), None) == [again]


@pytest.mark.parametrize(
    ("execution", "for_good"),
    [
        (ended(), False),
        (ended(FAILURE), True),
        (ended(TIMED_OUT), True),
        (ended(0, FAILURE), True),
        (ended(FAILURE, retries_left=1), False),
        (ended(FAILURE, retries_left=1, reason_code=reasons.NEVER_RESOLVED), True),
        (ended(FAILURE, reason_code=reasons.RESULT_LOST), True),
        (ended(FAILURE, reason_code=reasons.KILLED), False),
        (ended(0, FAILURE, reason_code=reasons.DISCARDED), False),
        (ended(0, FAILURE, reason_code=reasons.JOB_STOPPED), False),
        (ended(0, FAILURE, reason_code=reasons.JOB_CHANGED), False),
        (ended(0, FAILURE, reason_code=reasons.DELETED), False),
    ],
)
def test_what_failed_for_good_and_concerns_somebody(execution: Execution, for_good: bool) -> None:
    assert failed_for_good(a_job(), execution) is for_good


def test_what_is_given_up_or_cannot_be_read_failed_for_good() -> None:
    assert failed_for_good(NOT_LATE, ended(TIMED_OUT, retries_left=2))
    assert failed_for_good(None, ended(FAILURE, retries_left=2)), "nothing follows"
