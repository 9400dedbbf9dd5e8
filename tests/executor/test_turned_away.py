"""Callers without a good credential: what is counted, told and reported of them, and what is forgotten."""

import json
from typing import Any

import pytest

from orth.errors import NotFound, Unauthenticated
from orth.events import Event, Events
from orth.executor.facts import CallerTurnedAway
from orth.executor.turned_away import TurnedAway, Unsigned, reason_of
from orth.wire.fields import TURNED_AWAY_LIMIT
from orth.wire.messages import TurnedAwayCaller
from orth.wire.signatures import BadSignature, Refused
from tests.executor.bench import HEADERS, Rig
from tests.executor.conftest import MakeRig

ATTACKER = "10.0.0.66"


@pytest.fixture
def heard() -> list[Event]:
    return []


@pytest.fixture
def turned_away(heard: list[Event]) -> TurnedAway:
    return TurnedAway(Events(heard.append))


def told(turned_away: TurnedAway) -> list[tuple[str, str, str, int]]:
    return [(one.address, one.path, one.reason, one.count) for one in turned_away.report()]


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (Unauthenticated("no token"), "token"),
        (Unsigned(), "unsigned"),
        (BadSignature(Refused.WRONG), "signature"),
        (BadSignature(Refused.UNKNOWN_KEY), "signature"),
        (BadSignature(Refused.MALFORMED), "signature"),
        (BadSignature(Refused.OTHER_RECEIVER), "receiver"),
        (BadSignature(Refused.STALE), "time"),
        (BadSignature(Refused.OTHER_BODY), "body"),
        (BadSignature(Refused.REPLAYED), "replay"),
        (NotFound("log", 7), ""),
    ],
)
def test_the_word_for_a_refusal(error: Any, word: str) -> None:
    assert reason_of(error) == word


def test_the_same_again_is_counted_and_told_once(turned_away: TurnedAway, heard: list[Event]) -> None:
    for _ in range(3):
        turned_away.note(ATTACKER, "/run", "token")
    turned_away.note(ATTACKER, "/kill", "token")
    assert told(turned_away) == [(ATTACKER, "/run", "token", 3), (ATTACKER, "/kill", "token", 1)]
    assert heard == [CallerTurnedAway(ATTACKER, path, "token") for path in ("/run", "/kill")]
    assert turned_away.counts() == {"token": 4}


def test_what_a_coordinator_has_is_not_reported_again(turned_away: TurnedAway) -> None:
    turned_away.note(ATTACKER, "/run", "token")
    reported = turned_away.report()
    turned_away.note(ATTACKER, "/run", "token")  # while the beat was on its way
    turned_away.taken(reported)
    assert told(turned_away) == [(ATTACKER, "/run", "token", 1)]
    turned_away.taken(turned_away.report())
    assert turned_away.report() == ()
    assert turned_away.counts() == {"token": 2}


def test_a_flood_is_bounded_and_counted(turned_away: TurnedAway, heard: list[Event]) -> None:
    for number in range(10 * TURNED_AWAY_LIMIT):
        turned_away.note(f"10.0.{number // 250}.{number % 250}", "/run", "token")
    assert len(turned_away.report()) == len(heard) == TURNED_AWAY_LIMIT
    assert turned_away.counts() == {"token": 10 * TURNED_AWAY_LIMIT}


def test_who_was_corrected_and_proves_itself_is_no_stranger(turned_away: TurnedAway, heard: list[Event]) -> None:
    for address in ("10.0.0.1", ATTACKER):
        turned_away.note(address, "/run", "receiver")
        turned_away.note(address, "/run", "replay")
    turned_away.proved("10.0.0.1")
    assert told(turned_away) == [
        ("10.0.0.1", "/run", "replay", 1),
        (ATTACKER, "/run", "receiver", 1),
        (ATTACKER, "/run", "replay", 1),
    ]
    assert [one.reason for one in heard if isinstance(one, CallerTurnedAway)] == ["replay", "replay"]


async def asked(ran: Rig, path: str, headers: dict[str, str]) -> int:
    """The status of a request that came over the network."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}"}

    async def send(message: Any) -> None:
        sent.append(message)

    named = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": path, "headers": named, "client": (ATTACKER, 4711)}
    await ran.runtime.http(scope, receive, send)
    return int(sent[0]["status"])


async def test_the_next_beat_carries_it_and_only_once(rig: MakeRig) -> None:
    ran = rig()
    assert await asked(ran, "/beat", {"ORTH-ACCESS-TOKEN": "wrong"}) == 401
    assert await asked(ran, "/beat", HEADERS) == 200
    assert await asked(ran, "/nothing", {"ORTH-ACCESS-TOKEN": "wrong"}) == 404
    expected = (TurnedAwayCaller(address=ATTACKER, path="/beat", reason="token", count=1),)
    beat = ran.runtime.announced()
    assert beat.orth is not None
    assert beat.orth.turned_away == expected
    assert json.loads(beat.model_dump_json(by_alias=True))["orth"]["turnedAway"][0]["count"] == 1
    await ran.runtime.heartbeat.turn()
    after = ran.runtime.announced()
    assert after.orth is not None
    assert after.orth.turned_away == ()
    assert 'orth_executor_turned_away_total{reason="token"} 1' in ran.runtime.metrics_text().decode()
