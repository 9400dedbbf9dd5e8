"""The story of an execution, from what is stored about it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from orth.coordinator.why import Explanation, NextCode, Patience, Record, Step, explain
from orth.domain import reasons
from orth.domain.executions import Execution, Phase, Status, Turn
from orth.domain.fires import FireDecision
from orth.domain.handoffs import PastHandoff, Reason
from orth.domain.jobs import Job, Overlap, RouteStrategy, TriggerCause
from orth.domain.nodes import StillWorking
from orth.domain.overlap import BlockedBy, BlockingExecution

WHY_TEXTS = Path(__file__).parents[2] / "console/src/i18n/locales/en/why.json"
NOW = 1_750_000_000_000  # 2025-06-15T15:06:40Z
PATIENCE = Patience(answer=3, circuit=60, lost=600)
JOB = Job(id=7, job_group=1, job_desc="nightly", executor_route_strategy=RouteStrategy.FAILOVER)
OPENED = Execution(
    id=11,
    job_id=7,
    job_group=1,
    cause=TriggerCause.CRON,
    trigger_code=0,
    handle_code=0,
    phase=Phase.OPENED,
    schedule_time=NOW - 1_000,
    trigger_time=NOW,
    trigger_key=f"fire:{NOW - 1_000}",
)
LEFT = StillWorking("http://a:1", NOW + 7)
SENT = replace(OPENED, phase=Phase.DISPATCHING, executor_address="http://a:1", incarnation="process-1")


def told(execution: Execution, *notes: Step, job: Job | None = JOB, next_attempt: int | None = None) -> Explanation:
    return explain(Record(execution, job, None, notes, next_attempt), PATIENCE, NOW)


def blocked(by: BlockingExecution, execution: Execution | None = None) -> Explanation:
    """The story of an execution that waits for another one of its job."""
    waits = execution or replace(OPENED, reason_code=reasons.BUSY_ELSEWHERE)
    return explain(Record(waits, JOB, None, (), blocking=by), PATIENCE, NOW)


def test_the_cause_comes_first_and_then_what_the_ledger_says() -> None:
    fire = FireDecision(7, NOW - 1_000, NOW - 1_000, 1, "run", "on time", 3)
    steps = explain(Record(SENT, JOB, fire, ()), PATIENCE, NOW).steps
    assert [step.code for step in steps] == ["cron", "fire_run", "routed"]
    assert steps[0].text == "Its cron schedule fired, for 2025-06-15T15:06:39.000Z."
    assert steps[1].text == "The fire ledger says run: on time."
    assert steps[2].text == "http://a:1 was chosen by FAILOVER."


@pytest.mark.parametrize("cause", TriggerCause)
def test_every_cause_has_a_sentence(cause: TriggerCause) -> None:
    first = told(replace(OPENED, cause=cause, trigger_key="key:x")).steps[0]
    assert first.code == cause
    assert first.text.endswith(".")


def test_a_retry_names_what_it_repeats_and_a_shard_itself() -> None:
    execution = replace(
        SENT, cause=TriggerCause.RETRY, trigger_key="retry:5", attempt=2, shard_index=1, shard_total=3, batch_id=9
    )
    first, second = told(execution).steps
    assert "attempt 2, after execution 5 (batch 9)" in first.text
    assert second.text.endswith("for shard 1 of 3.")


def test_notes_stand_between_the_route_and_the_end() -> None:
    ended = replace(
        SENT,
        phase=Phase.ENDED,
        trigger_code=500,
        trigger_msg="http://a:1: refused\nmore",
        handle_time=NOW + 5,
        reason_code=reasons.NOT_SENT,
    )
    story = told(ended, Step(reasons.NOT_SENT, "refused", NOW + 1), Step(reasons.REROUTED, "b", NOW + 2))
    assert [step.code for step in story.steps] == ["cron", "routed", "not_sent", "rerouted", "not_sent"]
    assert (story.summary, story.next.partition(":")[0]) == ("http://a:1: refused", "Nothing by itself")
    assert f"orth exec retry {ended.id}" in story.next
    assert told(ended, next_attempt=12).next == "Execution 12 tries again."


def test_nothing_is_to_be_mended_about_what_was_taken_back_before_it_began() -> None:
    ended = replace(SENT, phase=Phase.ENDED, trigger_code=200, handle_code=500, start_time=None)
    for reason in (reasons.JOB_STOPPED, reasons.JOB_CHANGED):
        story = told(replace(ended, reason_code=reason))
        assert (story.following.code, story.next) == (NextCode.NOTHING, "Nothing: it has ended.")
    begun = told(replace(ended, reason_code=reasons.JOB_STOPPED, start_time=ended.trigger_time + 1))
    assert begun.following.code is NextCode.MEND_JOB


@pytest.mark.parametrize(
    ("reason", "words", "code"),
    [
        (reasons.KILLED, "", NextCode.RETRY_IF_WANTED),
        (reasons.ENDED_TOGETHER, "", NextCode.RETRY_IF_WANTED),
        (reasons.COVERED, "", NextCode.RETRY_IF_WANTED),
        (reasons.HANDLER_CHANGED, "", NextCode.RETRY_IF_WANTED),
        (reasons.EXECUTOR_STOPPED, "", NextCode.RETRY_IF_WANTED),
        (reasons.DISCARDED, "", NextCode.RETRY_WHEN_FREE),
        (reasons.JOB_MOVED, "", NextCode.RUN_WHERE_IT_IS),
        (reasons.DELETED, "", NextCode.GONE),
    ],
)
def test_nobody_is_told_to_mend_what_did_nothing_wrong(reason: str | None, words: str, code: NextCode) -> None:
    ran = replace(SENT, phase=Phase.ENDED, trigger_code=200, handle_code=500, start_time=NOW)
    unsent = replace(SENT, phase=Phase.ENDED, trigger_code=500, handle_code=0)
    for ended in (ran, unsent):
        story = told(replace(ended, reason_code=reason, handle_msg=words))
        assert story.following.code is code
        assert "mend" not in story.next
        assert "log" not in story.next
        assert ("orth exec retry" in story.next) is (code not in (NextCode.RUN_WHERE_IT_IS, NextCode.GONE))
    left = replace(ran, reason_code=reasons.KILLED)
    assert explain(Record(left, JOB, None, (), None, 0, LEFT), PATIENCE, NOW).following.code is NextCode.STILL_WORKS


def test_a_test_of_code_is_tested_anew() -> None:
    failed = replace(SENT, phase=Phase.ENDED, trigger_code=200, handle_code=500, start_time=NOW, trigger_key="test:1")
    story = told(failed)
    assert (story.following.code, "retry" in story.next) == (NextCode.TEST_AGAIN, False)


@pytest.mark.parametrize("reason", [None, reasons.RESULT_LOST, reasons.KILLED, reasons.DISCARDED, reasons.DELETED])
@pytest.mark.parametrize(("trigger_code", "handle_code"), [(200, 500), (200, 502), (500, 0)])
def test_nobody_is_told_to_do_again_what_has_no_job_any_more(
    reason: str | None, trigger_code: int, handle_code: int
) -> None:
    codes = {"trigger_code": trigger_code, "handle_code": handle_code}
    ended = replace(SENT, phase=Phase.ENDED, start_time=NOW, reason_code=reason, **codes)
    story = explain(Record(ended, None, None, ()), PATIENCE, NOW)
    assert (story.following.code, "retry" in story.next) == (NextCode.GONE, False)
    works_on = explain(Record(ended, None, None, (), still_working=LEFT), PATIENCE, NOW)
    assert (works_on.following.code, "retry" in works_on.next) == (NextCode.STILL_WORKS_GONE, False)
    tried = explain(Record(ended, None, None, (), 12, still_working=LEFT), PATIENCE, NOW)
    assert tried.following.code is NextCode.STILL_WORKS_BESIDE


def test_what_was_reported_too_late_is_told_after_the_end() -> None:
    ended = replace(
        SENT,
        phase=Phase.ENDED,
        trigger_code=200,
        handle_code=500,
        handle_msg="Result lost: the executor has left the registry.",
        handle_time=NOW + 5,
        reason_code=reasons.RESULT_LOST,
    )
    doubt, late = Step(reasons.UNKNOWN_ANSWER, "no answer", NOW + 1), Step(reasons.LATE_RESULT, "done", NOW + 9)
    story = told(ended, doubt, late)
    assert [step.code for step in story.steps[2:]] == ["unknown_answer", "result_lost", "late_result"]
    assert story.summary == "Result lost: the executor has left the registry."


def test_nobody_is_sent_to_the_log_of_what_was_lost_with_its_executor() -> None:
    lost = replace(SENT, phase=Phase.ENDED, trigger_code=200, handle_code=500, reason_code=reasons.RESULT_LOST)
    story = told(lost)
    assert story.following.code is NextCode.MEND_LOST
    assert "log" not in story.next
    assert f"orth exec retry {lost.id}" in story.next


@pytest.mark.parametrize("code", [reasons.NEVER_RESOLVED, reasons.SURELY_NOT_THERE, reasons.REFUSED])
def test_what_ended_it_is_told_once_though_it_was_noted_as_well(code: str) -> None:
    ended = replace(
        SENT, phase=Phase.ENDED, trigger_code=500, trigger_msg="nobody knows", handle_time=NOW + 5, reason_code=code
    )
    doubt, noted = Step(reasons.UNKNOWN_ANSWER, "no answer", NOW + 1), Step(code, "nobody knows", NOW + 5)
    assert told(ended, doubt, noted).steps[2:] == (doubt, noted)
    earlier = replace(noted, at=NOW + 2)
    assert told(ended, earlier, noted).steps[2:] == (earlier, noted), "what happened twice is told twice"


def test_a_result_that_came_while_nobody_knew_is_what_ended_it() -> None:
    doubt = Step(reasons.UNKNOWN_ANSWER, "no answer", NOW + 1)
    ended = replace(SENT, phase=Phase.ENDED, trigger_code=200, reason_code=reasons.UNKNOWN_ANSWER, handle_msg="did it")
    for handle_code, status in ((200, "success"), (500, "failed")):
        last = told(replace(ended, handle_code=handle_code), doubt).steps[-1]
        assert (last.code, last.text) == (status, "did it")


def test_waiting_for_an_executor_that_is_left_alone_counts_from_when_it_began() -> None:
    waiting = replace(OPENED, reason_code=reasons.CIRCUIT_OPEN)
    steps = [Step(reasons.CIRCUIT_OPEN, "left alone", NOW + at) for at in (-900_000, -10_000)]
    assert "fails after 2025-06-15T15:07:30.000Z" in told(waiting, *steps).next


def test_an_ending_without_words_is_explained_by_its_code() -> None:
    ended = replace(OPENED, phase=Phase.ENDED, trigger_code=500, reason_code=reasons.NO_EXECUTOR)
    assert told(ended).summary == reasons.REASONS[reasons.NO_EXECUTOR]
    assert told(replace(ended, reason_code=None)).summary == "It failed without a word."
    assert told(replace(ended, trigger_code=200, handle_code=200)).summary == "It ended well."


@pytest.mark.parametrize(
    ("execution", "following"),
    [
        (OPENED, "It waits to be sent: the leader takes it within a second, if there is one."),
        (replace(OPENED, not_before=NOW + 2_000), "It is sent when it is due, at 2025-06-15T15:06:42.000Z"),
        (replace(OPENED, reason_code=reasons.CIRCUIT_OPEN), "fails after 2025-06-15T15:07:40.000Z"),
        (replace(OPENED, reason_code=reasons.PEER_FULL), "It is looked at again every second."),
        (SENT, "http://a:1 has 3 s to answer."),
        (replace(SENT, phase=Phase.RUNNING, trigger_code=200), "should that executor be gone for 600 s"),
    ],
)
def test_what_happens_next(execution: Execution, following: str) -> None:
    assert following in told(execution).next
    assert told(execution).summary == told(execution).next


def test_a_doubt_says_until_when_somebody_is_asked() -> None:
    doubt = Step(reasons.UNKNOWN_ANSWER, "no answer", NOW)
    ours = replace(SENT, phase=Phase.UNKNOWN)
    assert "asked again every second until 2025-06-15T15:16:40.000Z" in told(ours, doubt).next
    assert "asked again every second for 600 s" in told(ours).next
    assert "every second for 900 s" in told(ours, job=replace(JOB, lost_after=30, executor_timeout=900)).next
    foreign = replace(ours, incarnation=None)
    assert "cannot be asked about it" in told(foreign, doubt).next
    assert "until 2025-06-15T15:16:40.000Z" in told(foreign, doubt).next
    assert "for 30 s" in told(foreign, job=replace(JOB, lost_after=30)).next


def test_every_sentence_about_what_follows_is_made_of_its_facts() -> None:
    """Others make the sentence anew in their language: what it names must be among the facts."""
    doubt = Step(reasons.UNKNOWN_ANSWER, "no answer", NOW)
    ended = replace(SENT, phase=Phase.ENDED, trigger_code=200, handle_code=500)
    queued = replace(OPENED, phase=Phase.OFFERED, queue="app.q", offered_at=NOW)
    every = [
        told(OPENED),
        told(replace(OPENED, not_before=NOW + 2_000)),
        told(replace(OPENED, not_before=NOW + 2_000, cause=TriggerCause.RETRY, attempt=2, trigger_key="retry:5")),
        told(replace(OPENED, reason_code=reasons.CIRCUIT_OPEN)),
        told(replace(OPENED, reason_code=reasons.QUEUE_FULL)),
        told(replace(OPENED, reason_code=reasons.BUSY_ELSEWHERE)),
        *(blocked(BlockingExecution(5, kind, "http://b:1", NOW + 9)) for kind in BlockedBy),
        told(SENT),
        *(told(replace(SENT, phase=Phase.UNKNOWN), *notes) for notes in ((), (doubt,))),
        *(told(replace(SENT, phase=Phase.UNKNOWN, incarnation=None), *notes) for notes in ((), (doubt,))),
        *(explain(Record(queued, JOB, None, (), takers=takers), PATIENCE, NOW) for takers in (0, 3)),
        told(replace(SENT, phase=Phase.RUNNING, trigger_code=200)),
        explain(Record(replace(SENT, phase=Phase.DISPATCHED), JOB, None, (), turn=Turn(2, 9)), PATIENCE, NOW),
        told(ended, next_attempt=12),
        told(replace(ended, handle_code=200)),
        told(replace(ended, trigger_code=500, handle_code=0)),
        told(ended),
        told(replace(ended, handle_code=502)),
        *(
            told(replace(ended, reason_code=reason))
            for reason in (
                reasons.RESULT_LOST,
                reasons.KILLED,
                reasons.DISCARDED,
                reasons.JOB_MOVED,
                reasons.DELETED,
            )
        ),
        *(explain(Record(ended, JOB, None, (), again, 0, LEFT), PATIENCE, NOW) for again in (None, 12)),
        explain(Record(ended, None, None, (), still_working=LEFT), PATIENCE, NOW),
        told(replace(ended, trigger_key="test:1")),
    ]
    assert {one.following.code for one in every} == set(NextCode)
    for one in every:
        for fact in one.following.facts.values():
            assert (f"{fact:g}" if isinstance(fact, float) else str(fact)) in one.next


def test_what_still_works_is_told_and_nobody_is_advised_to_do_it_again_beside_it() -> None:
    ended = replace(SENT, phase=Phase.ENDED, trigger_code=200, handle_code=502, handle_time=NOW)
    story = explain(Record(ended, JOB, None, (), still_working=LEFT), PATIENCE, NOW + 9)
    honest = "Its handler could not be ended and still works on http://a:1 since 2025-06-15T15:06:40.007Z"
    assert (story.steps[-1].code, story.steps[-1].text) == ("left_behind", f"{honest}.")
    assert story.next.startswith(f"{honest}. Wait until it has returned")
    retried = explain(Record(ended, JOB, None, (), 12, still_working=LEFT), PATIENCE, NOW + 9)
    assert retried.next == f"{honest}; execution 12 tries again beside it."


def test_what_was_said_is_kept_apart_from_the_reason_unless_it_says_the_same() -> None:
    ended = replace(SENT, phase=Phase.ENDED, trigger_code=500, reason_code=reasons.NOT_SENT)
    assert told(replace(ended, trigger_msg="http://a:1: refused")).words == "http://a:1: refused"
    assert told(replace(ended, trigger_msg=reasons.REASONS[reasons.NOT_SENT])).words is None
    assert told(ended).words is None


def test_what_a_coordinator_says_of_its_own_is_told_by_the_reason_and_its_facts() -> None:
    ended = replace(OPENED, phase=Phase.ENDED, trigger_code=500, reason_code=reasons.NO_EXECUTOR)
    ended = replace(ended, trigger_msg='No executor is registered for app "demo". Start one.')
    story = explain(Record(ended, JOB, None, (), app_name="demo"), PATIENCE, NOW)
    assert (story.words, story.reason_facts, story.summary) == (None, {"app": "demo"}, ended.trigger_msg)
    assert told(ended).words == ended.trigger_msg, "its group is gone, and nothing else names it"
    picky = replace(ended, reason_code=reasons.NO_MATCHING_EXECUTOR)
    story = explain(Record(picky, replace(JOB, label_selector="gpu"), None, (), app_name="demo"), PATIENCE, NOW)
    assert (story.words, story.reason_facts) == (None, {"app": "demo", "selector": "gpu"})
    assert told(replace(ended, reason_code=reasons.DELETED)).words is None


def test_who_was_chosen_has_the_time_when_it_took_it_unless_something_came_between() -> None:
    taken = replace(SENT, phase=Phase.DISPATCHED, trigger_code=200, dispatch_time=NOW + 40)
    assert told(taken).steps[-1].at == NOW + 40
    doubt = Step(reasons.UNKNOWN_ANSWER, "no answer", NOW + 20)
    assert told(taken, doubt).steps[1].at is None
    queued = replace(taken, queue="demo.q", offered_at=NOW + 10)
    assert [step.at for step in told(queued).steps[1:]] == [NOW + 10, NOW + 40]


def test_a_deleted_job_does_not_stop_the_story() -> None:
    assert told(SENT, job=None).steps[-1].text == "http://a:1 was chosen."
    assert "600 s" in told(replace(SENT, phase=Phase.RUNNING, trigger_code=200), job=None).next


def test_one_that_waits_for_its_job_says_what_for_at_this_moment() -> None:
    then = Step(reasons.BUSY_ELSEWHERE, "Another execution of the job might be running at http://a:1.", NOW)
    waits = replace(OPENED, reason_code=reasons.BUSY_ELSEWHERE)
    ahead = BlockingExecution(5, BlockedBy.AHEAD, "http://b:1", NOW + 9)
    story = explain(Record(waits, JOB, None, (then,), blocking=ahead), PATIENCE, NOW)
    assert story.summary.startswith(
        "Execution 5 of the same job was sent ahead to http://b:1, where this one cannot go"
    )
    assert "2025-06-15T15:06:40.009Z" in story.summary
    assert told(waits, then).next.startswith("It waits for other executions of its job: they may still be running")


def test_one_behind_a_handler_that_never_returns_says_how_to_free_it() -> None:
    ended = BlockingExecution(5, BlockedBy.ENDED, "http://a:1")
    queued = replace(SENT, phase=Phase.DISPATCHED, trigger_code=200)
    for execution in (queued, replace(OPENED, reason_code=reasons.BUSY_ELSEWHERE)):
        story = blocked(ended, execution)
        assert story.following.code is NextCode.WAITS_FOR_ENDED
        assert "Execution 5 of the same job has ended, but its handler may still work at http://a:1" in story.next
        assert "restart that executor" in story.next
    alone = replace(JOB, overlap=Overlap.EXECUTOR)
    beside = explain(Record(queued, alone, None, (), blocking=ended), PATIENCE, NOW)
    assert beside.following.code is NextCode.RUNS


def test_one_that_waits_its_turn_names_the_one_before_it() -> None:
    taken = replace(SENT, phase=Phase.DISPATCHED, trigger_code=200)
    following = explain(Record(taken, JOB, None, (), turn=Turn(2, 9)), PATIENCE, NOW).following
    assert (following.code, following.facts) == (
        NextCode.WAITS_ITS_TURN,
        {"address": "http://a:1", "position": 2, "ahead": 9},
    )
    assert following.text == (
        "Execution 9 of the same job is before it on http://a:1, where it is queued (place 2): "
        "it begins when its turn comes. Kill that one, or let the job run several at once, if it should not wait."
    )
    assert told(taken).following.code is NextCode.RUNS


def hand(number: int, giver: str | None, reason: Reason, at: int) -> PastHandoff:
    return PastHandoff(number, 11, 7, giver, "beta", reason, False, 0, False, at)


def test_who_took_it_over_stands_where_it_happened() -> None:
    taken = replace(SENT, phase=Phase.DISPATCHED, trigger_code=200, dispatch_time=NOW)
    ended = replace(taken, phase=Phase.ENDED, handle_code=200, start_time=NOW, handle_time=NOW + 50)
    noted = Step(reasons.UNKNOWN_ANSWER, "no answer", NOW + 20)
    hands = [hand(1, "alpha", Reason.NODE_CRASH, NOW + 10), hand(2, "beta", Reason.NODE_CRASH, NOW + 30)]
    steps = explain(Record(ended, JOB, None, (noted,), hands=hands), PATIENCE, NOW).steps
    assert [(step.code, step.at) for step in steps[2:]] == [
        ("owner_lost", NOW + 10),
        (reasons.UNKNOWN_ANSWER, NOW + 20),
        ("owner_restarted", NOW + 30),
        (Status.SUCCESS, NOW + 50),
    ]
    assert steps[2].text == "beta follows it from now on: alpha was not heard of any more."
    assert steps[2].facts == {"taker": "beta", "giver": "alpha"}
    assert steps[1].at == NOW, "that it changed hands says nothing of when it was taken"


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_to_change_hands_has_a_sentence(reason: Reason) -> None:
    giver = None if reason is Reason.ORPHAN else "alpha"
    (step,) = explain(Record(OPENED, JOB, None, (), hands=[hand(1, giver, reason, NOW)]), PATIENCE, NOW).steps[1:]
    assert step.text.startswith("beta follows it from now on: ")
    assert (giver or "nobody") in step.text
    texts = json.loads(WHY_TEXTS.read_text())["step"]
    assert texts[step.code].replace("{{taker}}", "beta").replace("{{giver}}", "alpha") == step.text
