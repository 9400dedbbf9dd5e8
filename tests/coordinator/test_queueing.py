"""What the leader concludes from queues and beats: the decisions by themselves."""

import pytest

from orth.channels.interface import Entry
from orth.coordinator.queue_evidence import (
    Evidence,
    Patience,
    Sign,
    held_until,
    is_given_back,
    is_missing,
    named_by,
    sign_of_loss,
    taken_by,
)
from orth.coordinator.workers import Fate, Workers, queues_of
from orth.domain import reasons
from orth.store.offering import InQueue
from orth.testing import ManualClock
from orth.wire.channel_messages import Dispatch, WorkerBeat, may_start
from orth.wire.messages import RunRequest

PLACE = ("app.a", 1)
PATIENCE = Patience(missing=30.0, lost=600.0, offer=86_400.0)


def waiting(sending: int = 100, **fields: object) -> InQueue:
    values = {"id": 7, "job_id": 1, "queue": "app.a", "priority": 1, "sending": sending, "since": 0}
    return InQueue(**{**values, "incarnation": None, "lost_after": 0, **fields})  # type: ignore[arg-type]  # as above


def taken(incarnation: str = "p1", **fields: object) -> InQueue:
    return waiting(incarnation=incarnation, **fields)


def a_beat(incarnation: str = "p1", name: str = "w", running: tuple[int, ...] = (), **said: object) -> WorkerBeat:
    values = {"active_jobs": len(running), "app_name": "demo", "worker_id": name, **said}
    return WorkerBeat(incarnation=incarnation, running=running, **values)  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize(
    ("seen", "missing"),
    [
        (Evidence(waiting={PLACE: 0}), True),
        (Evidence(waiting={PLACE: 3}), False),
        (Evidence(), False),  # nobody has looked
        (Evidence(waiting={PLACE: 3}, overtaken={PLACE: 101}), True),
        (Evidence(waiting={PLACE: 3}, overtaken={PLACE: 100}), False),
        (Evidence(waiting={PLACE: 0}, in_hand={PLACE}), False),
        (Evidence(waiting={PLACE: 0}, in_hand={("app.b", 1)}), True),
        (Evidence(waiting={PLACE: 0}, named=frozenset({7})), False),
        (Evidence(waiting={PLACE: 0}, reticent=frozenset({"app"})), False),
        (Evidence(waiting={PLACE: 0}, reticent=frozenset({"other"})), True),
    ],
)
def test_an_offer_is_missing_when_nothing_speaks_for_it(seen: Evidence, missing: bool) -> None:
    assert is_missing(waiting(), seen) is missing


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def workers(clock: ManualClock) -> Workers:
    workers = Workers(clock, dead_after=30.0)
    workers.hears()
    return workers


def test_silence_counts_from_when_it_could_have_been_heard(workers: Workers, clock: ManualClock) -> None:
    workers.heard(a_beat())
    clock.move(29)
    assert workers.fate("p1") is Fate.ALIVE
    workers.missed()
    clock.move(29)
    assert workers.fate("p1") is Fate.ALIVE
    clock.move(1)
    assert workers.fate("p1") is Fate.SILENT


def test_nobody_is_silent_to_the_deaf(workers: Workers, clock: ManualClock) -> None:
    workers.heard(a_beat())
    workers.deaf()
    clock.move(100)
    workers.missed()
    assert [workers.fate(one) for one in ("p1", "who")] == [Fate.ALIVE, Fate.ALIVE]
    workers.hears()
    clock.move(29)
    assert workers.fate("p1") is Fate.ALIVE
    clock.move(1)
    assert workers.fate("p1") is Fate.SILENT


def test_what_a_living_process_does_not_name_is_missing_up_to_its_last_beat(
    workers: Workers, clock: ManualClock
) -> None:
    workers.heard(a_beat())
    heard = clock.monotonic()
    clock.move(20)
    assert held_until(taken(), workers, clock.monotonic()) == heard
    clock.move(20)
    assert held_until(taken(), workers, clock.monotonic()) == clock.monotonic(), "it is silent by now"
    assert held_until(taken("who"), workers, clock.monotonic()) == clock.monotonic()


def test_a_process_nobody_ever_heard_is_silent_only_after_a_while(workers: Workers, clock: ManualClock) -> None:
    assert workers.fate("who") is Fate.ALIVE
    clock.move(30)
    assert workers.fate("who") is Fate.SILENT


def test_a_good_bye_is_believed_at_once(workers: Workers) -> None:
    workers.heard(a_beat())
    workers.heard(a_beat(status="Stopped"))
    assert workers.fate("p1") is Fate.LEFT
    assert workers.departed() == ["p1"]


def test_a_successor_of_the_same_name_replaces(workers: Workers, clock: ManualClock) -> None:
    workers.heard(a_beat("p1"))
    workers.heard(a_beat("p2"))
    assert workers.fate("p1") is Fate.ALIVE, "they may be two"
    clock.move(16)
    workers.heard(a_beat("p2"))
    assert (workers.fate("p1"), workers.fate("p2")) == (Fate.REPLACED, Fate.ALIVE)


def test_those_who_share_a_name_are_both_alive(workers: Workers, clock: ManualClock) -> None:
    for _ in range(5):
        workers.heard(a_beat("p1"))
        workers.heard(a_beat("p2"))
        clock.move(10)
    assert {workers.fate("p1"), workers.fate("p2")} == {Fate.ALIVE}


def test_queues_are_called_as_on_the_wire_whatever_a_beat_calls_them(workers: Workers) -> None:
    workers.heard(a_beat(queues=("a", "demo.b")))
    assert queues_of(a_beat(queues=("a", "demo.b"))) == ("demo.a", "demo.b")
    assert len(workers.takers("demo.a")) == len(workers.takers("demo.b")) == 1
    assert workers.takers("demo.c") == []


def test_nobody_is_remembered_for_ever(workers: Workers, clock: ManualClock) -> None:
    workers.heard(a_beat())
    clock.move(100)
    workers.forget(100)
    assert workers.process("p1") is None


def test_what_somebody_names_is_not_lost(workers: Workers) -> None:
    assert sign_of_loss(taken(), workers, {7}, PATIENCE) is None


def test_what_a_living_process_does_not_name_is_lost_after_a_while(workers: Workers) -> None:
    workers.heard(a_beat())
    sign = sign_of_loss(taken(), workers, (), PATIENCE)
    assert sign == Sign("the executor does not know it any more", 35.0)


def test_one_that_does_not_name_everything_says_nothing(workers: Workers) -> None:
    workers.heard(a_beat(active_jobs=5))
    assert sign_of_loss(taken(), workers, (), PATIENCE) is None


@pytest.mark.parametrize(("own", "patience"), [(0, 600.0), (20, 20.0)])
def test_what_a_silent_process_has_is_lost_when_the_job_says_so(
    workers: Workers, clock: ManualClock, own: int, patience: float
) -> None:
    clock.move(31)
    sign = sign_of_loss(taken(lost_after=own), workers, (), PATIENCE)
    assert sign == Sign("the executor has not been heard of", patience)


@pytest.mark.parametrize(
    ("seen", "given_back"),
    [
        (Evidence(), True),
        (Evidence(waiting={("app.a", 1): 3}), True),
        (Evidence(named=frozenset({7})), False),
        (Evidence(reticent=frozenset({"app"})), False),
    ],
)
def test_what_was_given_back_is_offered_again_unless_somebody_has_it(seen: Evidence, given_back: bool) -> None:
    assert is_given_back(waiting(reason_code=reasons.OFFERED_AGAIN), seen) is given_back
    assert not is_given_back(waiting(), seen)


def words(*said: dict[str, object]) -> list[Entry]:
    return [Entry(str(number), word) for number, word in enumerate(said)]


def test_the_status_box_says_who_has_it() -> None:
    accepted = {"status": "Accepted", "incarnation": "p1", "workerId": "w", "sending": 100}
    found = taken_by(waiting(), words(accepted))
    assert found is not None
    assert (found.incarnation, found.address, found.running) == ("p1", "queue://w", False)
    assert taken_by(waiting(), words(accepted, {**accepted, "status": "Returned"})) is None
    assert taken_by(waiting(sending=101), words(accepted)) is None, "of an earlier offer"
    assert taken_by(waiting(), ()) is None


def a_dispatch(sending: int) -> Dispatch:
    return Dispatch(job_id=1, execution_id=7, sending=sending, trigger=RunRequest(job_id=1, log_id=7))


@pytest.mark.parametrize(
    ("said", "may"),
    [
        ([], True),
        ([{"status": "Withdrawn"}], False),
        ([{"status": "Withdrawn", "sending": 100}], False),
        ([{"status": "Withdrawn", "sending": 99}], True),
        ([{"status": "Accepted", "incarnation": "other", "sending": 100}], False),
        ([{"status": "Accepted", "incarnation": "other", "sending": 99}], True),
        ([{"status": "Accepted", "incarnation": "me", "sending": 100}], True),
        (
            [
                {"status": "Accepted", "incarnation": "other", "sending": 100},
                {"status": "Returned", "incarnation": "other", "sending": 100},
            ],
            True,
        ),
    ],
)
def test_a_message_is_begun_only_if_it_is_the_latest_and_nobody_elses(said: list[dict[str, object]], may: bool) -> None:
    assert may_start(a_dispatch(100), said, "me") is may


def test_a_process_is_of_the_app_it_first_spoke_for(workers: Workers) -> None:
    assert workers.heard(a_beat(app_name="victim"))
    assert not workers.heard(a_beat(app_name="mine", status="Stopped"))
    assert workers.fate("p1") is Fate.ALIVE


def test_the_name_of_an_executor_is_taken_over_within_its_app_only(workers: Workers, clock: ManualClock) -> None:
    workers.heard(a_beat("p1", app_name="victim"))
    workers.heard(a_beat("p2", app_name="mine"))
    clock.move(20)
    assert workers.fate("p1") is Fate.ALIVE
    workers.heard(a_beat("p3", app_name="victim"))
    assert workers.fate("p1") is Fate.REPLACED


def test_an_app_with_too_many_processes_loses_its_own(
    workers: Workers, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orth.coordinator.workers._OF_ONE_APP", 2)
    workers.heard(a_beat("theirs", app_name="victim"))
    for name in ("p1", "p2", "p3"):
        clock.move(1)
        workers.heard(a_beat(name, app_name="mine"))
    assert [one.beat.incarnation for one in workers.alive()] == ["theirs", "p2", "p3"]
    workers.forget(0)
    assert workers.heard(a_beat("p4", app_name="mine"))


def test_nobody_has_what_was_offered_to_another_app(workers: Workers) -> None:
    workers.heard(a_beat("p1", app_name="app", running=(7,)))
    workers.heard(a_beat("p2", "v", app_name="mine", running=(7, 8, 9)))
    assert named_by(workers.alive(), [waiting(), waiting(id=8)]) == {7, 9}
    workers.forget(0)
    workers.heard(a_beat("p2", app_name="mine", running=(7,)))
    assert not named_by(workers.alive(), [waiting()])
