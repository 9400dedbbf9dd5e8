"""Executions on queue transport, in every database."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection

from orth.domain import reasons
from orth.domain.executions import FAILURE, Execution, Phase, Status
from orth.domain.jobs import AddressType, Group, Job, TriggerCause
from orth.store.database import Database
from orth.store.executions import (
    Ending,
    Opening,
    end_executions,
    find_execution,
    ids_of_trigger,
    open_executions,
    sent_among,
)
from orth.store.executor_entries import list_executors
from orth.store.groups import create_group
from orth.store.jobs import create_job
from orth.store.offering import (
    Placing,
    Taking,
    ended_in_queues,
    list_in_queues,
    offer_executions,
    record_returned,
    record_taken,
    reopen_offered,
    standing_offers,
)
from orth.store.queue_executors import (
    QueueBeat,
    count_takers,
    drop_silent,
    record_queue_beats,
    remove_queue_executors,
)


@pytest.fixture
def connection(db: Database) -> Iterator[Connection]:
    with db.engine.begin() as connection:
        yield connection


def opened(connection: Connection, count: int = 1, **job: object) -> list[int]:
    group = create_group(connection, Group(0, "offering", "", AddressType.AUTO, ()), 1)
    job_id = create_job(connection, Job(id=0, job_group=group, job_desc="queued", **job), 1)  # type: ignore[arg-type]  # fields of Job
    openings = [
        Opening(
            job_id=job_id,
            job_group=group,
            job_version=1,
            cause=TriggerCause.MANUAL,
            trigger_key=f"k{number}",
            schedule_time=None,
            executor_handler="h",
            executor_param="",
            retries_left=0,
        )
        for number in range(count)
    ]
    open_executions(connection, openings, 1)
    return [ids_of_trigger(connection, job_id, f"k{number}")[0] for number in range(count)]


def offered(connection: Connection, ids: list[int], sending: int = 100) -> None:
    offer_executions(connection, [Placing(one, "app.a", 2, sending) for one in ids], 7, sending)


def found(connection: Connection, one: int) -> Execution:
    execution = find_execution(connection, one)
    assert execution is not None
    return execution


def test_an_offer_is_written_down_before_it_is_sent(connection: Connection) -> None:
    (one,) = opened(connection)
    offered(connection, [one])
    row = found(connection, one)
    assert (row.phase, row.status, row.queue, row.priority, row.offered_at) == (
        Phase.OFFERED,
        Status.INIT,
        "app.a",
        2,
        100,
    )


def test_only_what_is_opened_is_offered(connection: Connection) -> None:
    (one,) = opened(connection)
    offered(connection, [one])
    record_taken(connection, [Taking(one, "queue://w", "p1", running=False)], 200)
    offered(connection, [one], 300)
    assert (found(connection, one).phase, found(connection, one).offered_at) == (Phase.DISPATCHED, 100)


def test_what_is_taken_has_an_executor_and_what_is_returned_has_none(connection: Connection) -> None:
    first, second = opened(connection, 2)
    offered(connection, [first, second])
    takings = [Taking(first, "queue://w", "p1", running=False), Taking(second, "queue://w", "p1", running=True)]
    record_taken(connection, takings, 200)
    assert (found(connection, first).phase, found(connection, second).phase) == (Phase.DISPATCHED, Phase.RUNNING)
    assert found(connection, first).status is Status.PENDING
    record_returned(connection, {first: "p1", second: "another"}, 300)
    assert (found(connection, first).phase, found(connection, first).incarnation) == (Phase.OFFERED, None)
    assert found(connection, second).phase is Phase.RUNNING


def test_an_offer_that_is_lost_is_opened_again_unless_it_is_another_one(connection: Connection) -> None:
    first, second, third = opened(connection, 3)
    offered(connection, [first, second, third])
    record_taken(connection, [Taking(third, "queue://w", "p1", running=False)], 200)
    reopened = reopen_offered(connection, {first: 100, second: 99, third: 100}, 300, "offered_again")
    assert reopened == [first]
    row = found(connection, first)
    assert (row.phase, row.queue, row.offered_at, row.reason_code) == (Phase.OPENED, None, 100, "offered_again")
    assert sent_among(connection, [first]).keys() == {first}, "somebody may yet report it"


def test_what_is_in_queues_is_listed_with_its_jobs_patience(connection: Connection) -> None:
    first, second, third = opened(connection, 3, lost_after=60)
    offered(connection, [first, second])
    record_taken(connection, [Taking(second, "queue://w", "p1", running=False)], 200)
    listed = [(one.id, one.queue, one.priority, one.sending, one.incarnation) for one in list_in_queues(connection)]
    assert listed == [(first, "app.a", 2, 100, None), (second, "app.a", 2, 100, "p1")]
    assert {one.lost_after for one in list_in_queues(connection)} == {60}
    assert third not in {one for one, *_rest in listed}


def beat(name: str, incarnation: str, *queues: str) -> QueueBeat:
    return QueueBeat("app", f"queue://{name}", incarnation, queues, 1, "1", None, 5)


def test_executors_of_queues_are_listed_and_never_sent_to(connection: Connection) -> None:
    record_queue_beats(connection, [beat("w1", "p1", "app.a", "app.b"), beat("w2", "p2", "app.b")], 10)
    record_queue_beats(connection, [beat("w1", "p1", "app.a", "app.b")], 20)
    assert list_executors(connection) == []
    listed = list_executors(connection, of_queues=True)
    assert [(one.address, one.queues, one.last_beat, one.since) for one in listed] == [
        ("queue://w1", ("app.a", "app.b"), 20, 5),
        ("queue://w2", ("app.b",), 10, 5),
    ]
    assert (count_takers(connection, "app.b"), count_takers(connection, "app.c")) == (2, 0)
    remove_queue_executors(connection, ["p1"])
    drop_silent(connection, 11)
    assert list_executors(connection, of_queues=True) == []


def test_offers_that_stand_are_found_by_their_number(connection: Connection) -> None:
    waits, taken, unoffered = opened(connection, 3)
    offered(connection, [waits, taken])
    record_taken(connection, [Taking(taken, "queue://w", "i1", running=False)], 200)
    found_ones, newest = standing_offers(connection, [waits, taken, unoffered, 10**9])
    assert [(one.id, one.sending, one.app_name) for one in found_ones] == [(waits, 100, "offering")]
    assert newest == unoffered
    assert standing_offers(connection, []) == ([], unoffered)


def test_where_nothing_was_triggered_nothing_is_newest(connection: Connection) -> None:
    assert standing_offers(connection, [1]) == ([], 0)


@pytest.mark.parametrize("reason", [reasons.KILLED, reasons.COVERED, reasons.NOBODY_TOOK_IT])
def test_what_ended_in_a_queue_is_found_whatever_ended_it(connection: Connection, reason: str) -> None:
    """What is not withdrawn from its queue would be begun."""
    ended, _open = opened(connection, 2)
    offer_executions(connection, [Placing(ended, "q", 1, 5)], 1, 5)
    end_executions(connection, [Ending(execution_id=ended, trigger_code=FAILURE, reason_code=reason)], 6)
    assert [(one.id, one.queue) for one in ended_in_queues(connection, 0, 10)] == [(ended, "q")]
