"""Room in a queue: counted seldom, never trusted for long."""

import pytest

from orth.channels.interface import ChannelsUnavailable
from orth.channels.room import Room
from orth.testing import ManualClock


def test_a_quarter_of_the_room_is_used_before_it_is_counted_again() -> None:
    room = Room(1000, ManualClock())
    assert not room.known_for("q", 1)
    room.counted("q", 200)
    assert room.known_for("q", 200)
    room.use("q", 150)
    assert room.known_for("q", 50)
    assert not room.known_for("q", 51)
    assert not room.known_for("other", 1)


def test_what_was_counted_grows_old() -> None:
    clock = ManualClock()
    room = Room(1000, clock)
    room.counted("q", 0)
    clock.move(1.1)
    assert not room.known_for("q", 1)


def test_the_last_place_can_be_used_and_no_more() -> None:
    room = Room(10, ManualClock())
    room.counted("q", 8)
    room.use("q", 2)
    with pytest.raises(ChannelsUnavailable, match="full"):
        room.use("q", 1)
    room.counted("q", 10)
    with pytest.raises(ChannelsUnavailable, match="full"):
        room.use("q", 1)


def test_queues_that_nobody_uses_are_forgotten() -> None:
    clock = ManualClock()
    room = Room(10, clock)
    for number in range(5000):
        room.counted(f"q{number}", 0)
        clock.move(0.01)
    assert len(room._found) <= 1000
