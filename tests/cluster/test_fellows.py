"""Who lives, by watching: a counter that moves, our own clock, and nobody judged while we looked away."""

import random
from dataclasses import replace

from orth.cluster.facts import NodeDied, NodeDraining, NodeJoined, NodeLeft, NodeReturned
from orth.cluster.fellows import Fellows
from orth.store.nodes import Beat, Load, NodeRow, NodeState, Role

DEAD_AFTER = 30.0


def row(
    name: str = "node-2", beats: int = 1, state: NodeState = NodeState.ACTIVE, incarnation: str = "first"
) -> NodeRow:
    said = Beat(name, incarnation, f"http://{name}", Role.FOLLOWER, state, Load(), "host", 1, "1.0")
    return NodeRow(said, beats, None, 0, 0)


def alive(fellows: Fellows) -> bool:
    found = fellows.find("node-2")
    assert found is not None
    return found.alive


def test_one_that_beats_lives() -> None:
    fellows = Fellows(dead_after=DEAD_AFTER)
    assert fellows.look([row()], 0) == [NodeJoined("node-2", "first", "http://node-2")]
    for look in range(1, 100):
        assert fellows.look([row(beats=1 + look // 2)], look * 10.0) == []
        assert alive(fellows)


def test_one_that_stands_still_is_dead_after_the_time_and_told_once() -> None:
    fellows = Fellows(dead_after=DEAD_AFTER)
    fellows.look([row(beats=7)], 0)
    assert [fellows.look([row(beats=7)], now) for now in (10.0, 20.0, 29.9)] == [[], [], []]
    assert fellows.look([row(beats=7)], 30.0) == [NodeDied("node-2", "first", 30.0)]
    assert not alive(fellows)
    assert fellows.look([row(beats=7)], 40.0) == []
    assert fellows.look([row(beats=8)], 50.0) == [NodeReturned("node-2", "first")]
    assert alive(fellows)


def test_silence_does_not_count_while_we_did_not_look() -> None:
    fellows = Fellows(dead_after=DEAD_AFTER)
    fellows.look([row()], 0)
    fellows.look([row()], 10)
    assert fellows.look([row()], 1000) == [], "the database was away, or we were frozen: nobody could be heard"
    assert fellows.look([row()], 1010) == []
    assert fellows.look([row()], 1020) == []
    assert [type(one) for one in fellows.look([row()], 1030)] == [NodeDied]


def test_one_that_is_dead_stays_dead_while_we_look_away() -> None:
    fellows = Fellows(dead_after=DEAD_AFTER)
    for now in (0, 10, 20, 30):
        fellows.look([row()], now)
    fellows.look([row()], 1000)
    assert not alive(fellows)


def test_what_was_heard_prolongs_a_life_and_never_ends_or_begins_one() -> None:
    fellows = Fellows(dead_after=DEAD_AFTER)
    fellows.sign_of_life("node-2", "first", 9, 0)
    assert fellows.all() == ()
    fellows.look([row(beats=4)], 0)
    fellows.sign_of_life("node-2", "first", 5, 15)
    fellows.look([row(beats=4)], 15)
    fellows.look([row(beats=4)], 30)
    assert alive(fellows)
    fellows.sign_of_life("node-2", "first", 4, 40)  # an old one, come late
    fellows.sign_of_life("node-2", "another", 99, 40)
    fellows.look([row(beats=4)], 45)
    assert not alive(fellows)
    fellows.sign_of_life("node-2", "first", 6, 46)
    assert not alive(fellows), "only its row brings it back: what it owned may be gone"


def test_a_restart_is_another_process_at_once() -> None:
    fellows = Fellows(dead_after=DEAD_AFTER)
    fellows.look([row(beats=5)], 0)
    assert fellows.look([row(beats=5, incarnation="second")], 10) == [NodeJoined("node-2", "second", "http://node-2")]
    assert fellows.look([row(beats=5, incarnation="second")], 20) == []
    assert alive(fellows)


def test_leaving_is_told_and_needs_no_waiting() -> None:
    fellows = Fellows(dead_after=DEAD_AFTER)
    fellows.look([row()], 0)
    assert fellows.look([row(beats=2, state=NodeState.DRAINING)], 1) == [NodeDraining("node-2", "first")]
    found = fellows.find("node-2")
    assert found is not None
    assert found.alive
    assert not found.takes_work
    assert fellows.look([row(beats=3, state=NodeState.OFFLINE)], 2) == [NodeLeft("node-2", "first")]
    assert not alive(fellows)
    for now in (10, 20, 40):
        assert fellows.look([row(beats=3, state=NodeState.OFFLINE)], now) == []


def test_what_a_leader_has_declared_is_so_for_a_newcomer_until_it_beats() -> None:
    fellows = Fellows(dead_after=DEAD_AFTER)
    assert fellows.look([row(beats=5, state=NodeState.DEAD)], 0) == []
    assert not alive(fellows)
    assert fellows.look([row(beats=6)], 10) == [NodeReturned("node-2", "first")]


def test_one_whose_row_is_gone_is_not_known_any_more() -> None:
    fellows = Fellows(dead_after=DEAD_AFTER)
    fellows.look([row()], 0)
    fellows.look([], 10)
    assert fellows.find("node-2") is None


def test_nobody_that_beats_in_time_ever_dies_however_often_we_look() -> None:
    chance = random.Random(20260130)
    for _ in range(200):
        fellows, now, beats, beaten = Fellows(dead_after=DEAD_AFTER), 0.0, 1, 0.0
        for _ in range(60):
            now += chance.choice([0.1, 1, 9, 17, 40, 400])
            while beaten + 10 <= now:
                beaten, beats = beaten + 10, beats + 1
            fellows.look([replace(row(), beats=beats)], now)
            assert alive(fellows)


def test_the_next_look_is_in_time_for_the_next_death() -> None:
    fellows = Fellows(dead_after=DEAD_AFTER)
    fellows.look([row(), row("node-3")], 0)
    fellows.look([row(), row("node-3", beats=2)], 10)
    assert fellows.next_death(12) == 18


def test_when_one_was_last_heard_is_known_of_who_was_replaced_too() -> None:
    fellows = Fellows(dead_after=DEAD_AFTER)
    assert fellows.last_heard("node-2", "first") is None
    fellows.look([replace(row(), last_beat=5_000)], 0)
    assert fellows.last_heard("node-2", "first") == 5_000
    fellows.look([replace(row(incarnation="second"), joined_at=9_000, last_beat=19_000)], 10)
    assert fellows.last_heard("node-2", "second") == 19_000
    assert fellows.last_heard("node-2", "first") == 5_000
    assert fellows.last_heard("node-2", "one before that") == 9_000, "when its successor joined it was gone"
