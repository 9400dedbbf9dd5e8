"""What one token may put into boxes, together and into each."""

import pytest

from orth.coordinator.http import channel_shares
from orth.coordinator.http.channel_shares import BOXES_FULL, NAMES, Guest, Shares
from orth.errors import TooBusy
from orth.testing import ManualClock

MINE, VICTIM, ALL = Guest(1), Guest(2), Guest()
SIZE = 1_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def shares(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Shares:
    monkeypatch.setattr(channel_shares, "ALWAYS", 100)
    return Shares(SIZE, clock)


def put(shares: Shares, guest: Guest, box: str, size: int) -> bool:
    """Whether the box takes so many characters."""
    sizes = shares.room(guest, {box: [{"p": "x" * (size - 11)}]})
    assert sizes in ({}, {box: 0 if guest == ALL else size})
    shares.took(guest, sizes)
    return bool(sizes)


def fill(shares: Shares, guest: Guest) -> int:
    """How many boxes take all that a box takes."""
    return sum(put(shares, guest, f"{guest.token_id}:{number}", SIZE) for number in range(3 * BOXES_FULL))


def test_a_token_has_a_share_over_all_boxes(shares: Shares) -> None:
    assert fill(shares, MINE) == BOXES_FULL
    assert not put(shares, MINE, "another", 200)
    assert fill(shares, VICTIM) == BOXES_FULL, "of the others nothing is taken"
    assert fill(shares, ALL) == 3 * BOXES_FULL


def test_one_request_with_many_boxes_has_no_more(shares: Shares) -> None:
    said = {f"box {number}": [{"p": "x" * (SIZE - 11)}] for number in range(3 * BOXES_FULL)}
    assert len(shares.room(MINE, said)) == BOXES_FULL


def test_a_result_gets_through_all_the_same(shares: Shares) -> None:
    fill(shares, MINE)
    assert put(shares, MINE, "status", 60)
    assert not put(shares, MINE, "status", 60), "a little, for each box"
    assert put(shares, MINE, "status of another", 60)


def test_after_an_hour_it_has_its_share_again(shares: Shares, clock: ManualClock) -> None:
    for number in range(BOXES_FULL):
        assert put(shares, MINE, f"box {number}", SIZE)
        clock.move(60)
    assert not put(shares, MINE, "one more", SIZE)
    clock.move(3_600 - BOXES_FULL * 60)
    assert put(shares, MINE, "one more", SIZE), "what was put in first counts no more"
    assert not put(shares, MINE, "yet another", SIZE)
    clock.move(7_200)
    assert fill(shares, MINE) == BOXES_FULL


def test_a_token_waits_for_a_limited_number_of_names(shares: Shares) -> None:
    with shares.waiting(MINE, 1.0, NAMES):
        with pytest.raises(TooBusy), shares.waiting(MINE, 1.0):
            pass
        with shares.waiting(VICTIM, 1.0, NAMES), shares.waiting(MINE, 0.0):
            pass
    with shares.waiting(MINE, 1.0):
        pass


def test_a_call_that_waits_gives_its_turn_back_unless_it_asks_again_at_once(shares: Shares) -> None:
    given_back: list[int] = []
    guest = Guest(1, waits=lambda: given_back.append(1))
    with shares.waiting(guest, 0.0), shares.waiting(guest, 0.1):
        assert given_back == []
    with shares.waiting(guest, 1.0):
        assert given_back == [1]
