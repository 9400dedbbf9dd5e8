"""The registry in memory: it follows beats and the database, and ages on its own clock."""

from dataclasses import replace

import pytest

from orth.coordinator.roster import Roster
from orth.domain.nodes import ExecutorEntry
from orth.testing import ManualClock

A, B = "http://10.0.0.1:9999", "http://10.0.0.2:9999"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def roster(clock: ManualClock) -> Roster:
    return Roster(clock, dead_after=90.0)


def entry(clock: ManualClock, address: str = A, incarnation: str | None = "one") -> ExecutorEntry:
    return ExecutorEntry("app", address, clock.now(), incarnation)


def look(roster: Roster, *stored: ExecutorEntry) -> None:
    roster.begin_look()
    roster.follow(stored)


def present(roster: Roster) -> list[tuple[str, float]]:
    return [(one.address, silence) for one, silence in roster.entries()]


def test_a_stored_beat_is_remembered_with_what_it_announced(roster: Roster, clock: ManualClock) -> None:
    roster.heard("app", A)
    assert present(roster) == [], "who could not be stored is not there yet"
    one = entry(clock)
    roster.stored(one, announced=7, row=3)
    assert roster.news == {A}
    assert roster.last_stored("app", A, 7) == (one, 3)
    assert roster.last_stored("app", A, 8) is None
    assert roster.last_stored("app", B, 7) is None
    roster.news.clear()
    roster.stored(replace(one, last_beat=clock.now() + 1), announced=7, row=3)
    assert roster.news == set()
    roster.stored(replace(one, incarnation="two"), announced=9)
    assert roster.news == {A}, "a restart is news"


def test_a_beat_that_nobody_could_store_is_remembered_as_the_last_one(roster: Roster, clock: ManualClock) -> None:
    one, other = entry(clock, A), entry(clock, B)
    roster.stored(one, 1)
    roster.stored(other, 1)
    clock.move(100)
    roster.heard("app", A)
    clock.move(1)
    assert roster.remembered() == [replace(one, last_beat=clock.now() - 1_000), other]


def test_ages_are_counted_on_its_own_clock(roster: Roster, clock: ManualClock) -> None:
    roster.stored(entry(clock), 1)
    clock.move(20)
    clock.jump(10_000)
    assert present(roster) == [(A, 20)]
    roster.heard("app", A)
    clock.move(40)
    assert roster.overdue(33) == {A}
    assert roster.overdue(41) == set()


def test_it_follows_what_others_stored(roster: Roster, clock: ManualClock) -> None:
    one, other = entry(clock), entry(clock, B)
    clock.move(10)
    look(roster, one, other)
    assert present(roster) == [(A, 10), (B, 10)]
    clock.move(5)
    look(roster, one, replace(other, last_beat=clock.now()))
    assert present(roster) == [(A, 15), (B, 0)]
    assert roster.at(B) is not None
    roster.news.clear()
    look(roster, one)
    assert present(roster) == [(A, 15)]
    assert roster.news == {B}
    assert roster.at(B) is None
    assert roster.removed() == [], "it left before it could be called silent"


def test_a_process_that_another_one_replaced_is_told_once(roster: Roster, clock: ManualClock) -> None:
    told: list[str | None] = []
    roster.restarts.append(lambda process: told.append(process.incarnation))
    roster.stored(entry(clock), announced=1)
    roster.stored(entry(clock), announced=1)
    assert told == []
    roster.stored(entry(clock, incarnation="two"), announced=1)
    assert told == ["one"]
    look(roster, entry(clock, incarnation="three"))
    look(roster, entry(clock, incarnation="three"))
    assert told == ["one", "two"]


def test_a_clock_far_ahead_somewhere_makes_nobody_older(roster: Roster, clock: ManualClock) -> None:
    look(roster, replace(entry(clock), last_beat=clock.now() + 600_000))
    assert present(roster) == [(A, 0)]


def test_who_was_removed_for_silence_is_remembered_for_a_while(roster: Roster, clock: ManualClock) -> None:
    one = entry(clock)
    look(roster, one)
    clock.move(95)
    look(roster)
    assert roster.removed() == [one]
    clock.move(599)
    assert roster.removed() == [one]
    clock.move(2)
    assert roster.removed() == []


def test_who_comes_back_is_no_longer_removed(roster: Roster, clock: ManualClock) -> None:
    one = entry(clock)
    look(roster, one)
    clock.move(95)
    look(roster)
    roster.stored(entry(clock), 1)
    assert roster.removed() == []


def test_what_happens_during_a_look_is_newer_than_what_it_finds(roster: Roster, clock: ManualClock) -> None:
    leaving = entry(clock, B)
    look(roster, leaving)
    roster.begin_look()
    roster.stored(entry(clock), 5, row=1)
    roster.left("app", B)
    roster.follow([leaving])
    assert [address for address, _ in present(roster)] == [A]
    look(roster, leaving)
    assert [address for address, _ in present(roster)] == [B], "at the next look the database is right again"


def test_an_address_of_two_apps_stays_until_both_have_left(roster: Roster, clock: ManualClock) -> None:
    roster.stored(entry(clock), 1)
    clock.move(1)
    roster.stored(replace(entry(clock), app_name="other"), 1)
    found = roster.at(A)
    assert found is not None
    assert found.app_name == "other"
    roster.left("other", A)
    found = roster.at(A)
    assert found is not None
    assert found.app_name == "app"
    roster.left("app", A)
    assert roster.at(A) is None
    assert len(roster) == 0
