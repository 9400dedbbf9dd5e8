"""Whom to probe next, and how soon again."""

import pytest

from orth.coordinator.agenda import CHECK_LINE, Agenda, Pace, Target
from orth.coordinator.reach import Sight
from orth.domain.nodes import Reachability

NOW = 1_000_000
PACE = Pace(every=1.0, rate=100)


def seen(state: Reachability, seconds: float) -> Sight:
    return Sight(state, since=NOW - int(seconds * 1000), checked_at=NOW)


@pytest.mark.parametrize(
    ("sight", "watched", "overdue", "unwatched", "pause"),
    [
        (None, True, False, 0, CHECK_LINE),
        (seen(Reachability.REACHABLE, 5), True, False, 0, CHECK_LINE),
        (seen(Reachability.REACHABLE, 5), True, True, 0, 1.0),
        (None, False, False, 100, 1.0),
        (None, False, False, 5_000, 50.0),  # more than can be called every second
        (seen(Reachability.SUSPECT, 0), True, False, 5_000, 1.0),
        (seen(Reachability.UNREACHABLE, 59), False, False, 0, 1.0),
        (seen(Reachability.UNREACHABLE, 75), False, False, 0, 7.5),
        (seen(Reachability.UNREACHABLE, 86_400), False, True, 0, 10.0),
    ],
)
def test_how_soon_an_address_is_called_again(
    sight: Sight | None, watched: bool, overdue: bool, unwatched: int, pause: float
) -> None:
    assert PACE.pause(sight, NOW, watched=watched, overdue=overdue, unwatched=unwatched) == pause


def test_targets_come_in_the_order_in_which_they_are_due() -> None:
    agenda = Agenda()
    assert agenda.next_due() is None
    for address, due in (("b", 2.0), ("a", 1.0), ("c", 3.0)):
        agenda.put(address, Target(ours=True), due)
    assert agenda.take(0.5) is None
    assert [agenda.take(2.5), agenda.take(2.5), agenda.take(2.5)] == ["a", "b", None]
    assert agenda.next_due() == 3.0


def test_one_that_is_being_called_is_not_called_a_second_time() -> None:
    agenda = Agenda()
    agenda.put("a", Target(ours=True), 0.0)
    assert agenda.take(0.0) == "a"
    agenda.schedule("a", 0.0)
    assert agenda.take(9.0) is None
    agenda.done("a", 5.0)
    assert agenda.take(4.0) is None
    assert agenda.take(5.0) == "a"


def test_a_new_time_replaces_the_old_one() -> None:
    agenda = Agenda()
    agenda.put("a", Target(ours=True), 60.0)
    agenda.schedule("a", 1.0)
    assert agenda.take(1.0) == "a"
    agenda.done("a", 90.0)
    assert agenda.take(60.0) is None, "the first time no longer counts"


def test_who_left_is_not_called() -> None:
    agenda = Agenda()
    agenda.put("a", Target(ours=True), 0.0)
    agenda.drop("a")
    assert agenda.take(1.0) is None
    agenda.put("b", Target(ours=True), 0.0)
    assert agenda.take(1.0) == "b"
    agenda.drop("b")
    agenda.done("b", 0.0)
    assert agenda.next_due() is None


def test_apps_take_turns_when_more_is_due_than_can_be_called() -> None:
    agenda = Agenda()
    for number in range(1_000):
        agenda.put(f"dead {number}", Target(ours=False, app_name="stolen"), 1.0)
    agenda.put("alive", Target(ours=True, app_name="reports"), 5.0)
    agenda.put("by hand", Target(ours=False), 5.0)
    assert agenda.take(5.0) == "dead 0"
    assert {agenda.take(5.0), agenda.take(5.0)} == {"alive", "by hand"}, "not behind a thousand others"
    assert agenda.next_due() == 1.0
    agenda.done("alive", 5.0)
    assert [agenda.take(5.0), agenda.take(5.0)] == ["dead 1", "alive"]


def test_one_that_waits_for_its_turn_keeps_its_place_and_is_called_once() -> None:
    agenda = Agenda()
    for address in ("a", "b"):
        agenda.put(address, Target(ours=False), 1.0)
        agenda.schedule(address, 1.0)
    agenda.put("other", Target(ours=False, app_name="other"), 1.0)
    assert agenda.take(1.0) == "a"
    agenda.schedule("b", 2.0)
    assert [agenda.take(2.0), agenda.take(2.0), agenda.take(2.0)] == ["other", "b", None]


def test_who_left_while_it_waited_for_its_turn_is_not_called() -> None:
    agenda = Agenda()
    for address in ("a", "b", "c"):
        agenda.put(address, Target(ours=False), 1.0)
    assert agenda.take(1.0) == "a"
    agenda.drop("b")
    agenda.put("c", Target(ours=False, app_name="moved"), 9.0)
    assert agenda.take(2.0) is None
    assert agenda.next_due() == 9.0


def test_a_small_app_is_called_as_often_as_if_all_were_small() -> None:
    agenda = Agenda()
    for number in range(1_000):
        agenda.put(f"many {number}", Target(ours=False, app_name="many"), 0.0)
    agenda.put("one", Target(ours=False, app_name="few"), 0.0)
    assert agenda.sharing("one", 1_001) == 2
    assert agenda.sharing("many 7", 1_001) == 1_001, "and never less often than if there were no turns"
    for number in range(1_000):
        agenda.drop(f"many {number}")
    assert agenda.sharing("one", 1) == 1
