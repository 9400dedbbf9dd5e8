"""Executors ask whether what they took from a queue still stands in the database."""

import asyncio
from typing import Any

import pytest

from orth.domain import reasons
from orth.domain.executions import FAILURE
from orth.store.executions import Ending, end_executions
from orth.store.offering import Placing, Taking, offer_executions, record_taken, reopen_offered
from orth.wire.open_offers import OpenOffersQuestion
from tests.coordinator.http.live import Answer
from tests.coordinator.http.test_channel_scope import Party, door, mine, victim
from tests.coordinator.http.test_channels import Door
from tests.store.builders import NOW

__all__ = ["door", "mine", "victim"]

OFFERED = 500


async def offer(party: Party, *ids: int, sending: int = OFFERED) -> None:
    placings = [Placing(one, f"{party.app_name}.a", 1, sending, keyed=True) for one in ids]
    await party.db.tx(offer_executions, placings, 1, NOW)


async def asked(party: Party, *offers: tuple[int, int, str | None]) -> Answer:
    told: list[dict[str, Any]] = [
        {"executionId": one, "sending": sending, **({"reportKey": key} if key else {})} for one, sending, key in offers
    ]
    return await asyncio.to_thread(party._caller.post, "/api/openOffers", {"offers": told})


async def open_ones(party: Party, *offers: tuple[int, int, str | None]) -> list[int]:
    data = (await asked(party, *offers)).envelope()["data"]
    return list(data["open"])


async def test_an_offer_stands_until_it_is_taken_ended_or_made_anew(mine: Party) -> None:
    ids = [await mine.open(f"fire-{number}") for number in range(5)]
    waits, runs, ended, again, _unoffered = ids
    await offer(mine, waits, runs, ended, again)
    keys = {one: await mine.key_of(one) for one in ids}
    question = [(one, OFFERED, keys[one]) for one in ids]
    assert await open_ones(mine, *question) == [waits, runs, ended, again]
    await mine.db.tx(record_taken, [Taking(runs, "queue://w", "process-1", running=True)], NOW)
    killed = Ending(execution_id=ended, trigger_code=FAILURE, trigger_msg="killed", reason_code=reasons.KILLED)
    await mine.db.tx(end_executions, [killed], NOW)
    await mine.db.tx(reopen_offered, {again: OFFERED}, NOW, reasons.OFFERED_AGAIN)
    await offer(mine, again, sending=OFFERED + 1)
    assert await open_ones(mine, *question) == [waits]
    assert await open_ones(mine, (again, OFFERED + 1, keys[again])) == [again]


async def test_nobody_learns_anything_of_what_was_not_given_to_him(mine: Party, victim: Party) -> None:
    await offer(mine, mine.execution)
    await offer(victim, victim.execution)
    for execution, key in (
        (victim.execution, victim.report_key),  # a token of another group
        (mine.execution, victim.report_key),
        (mine.execution, None),
        (10**6, mine.report_key),
    ):
        assert await open_ones(mine, (execution, OFFERED, key)) == []
    assert await open_ones(mine, (mine.execution, OFFERED, mine.report_key)) == [mine.execution]


async def test_the_newest_execution_is_named_also_when_nothing_is_asked_about(door: Door, mine: Party) -> None:
    newest = await mine.open("newest")
    await offer(mine, newest)
    offers = [(newest, OFFERED, await mine.key_of(newest))]
    for question, found in (([], []), (offers, [newest])):
        data = (await asked(mine, *question)).envelope()["data"]
        assert (data["newest"], data["open"]) == (newest, found)
    answer = await asyncio.to_thread(door.calls.open_offers, OpenOffersQuestion())
    assert (answer.newest, answer.open) == (newest, ()), "as an executor reads it"


@pytest.mark.parametrize("body", [{"offers": [{"sending": 1}]}, {"offers": [{"executionId": 1}] * 1_001}, []])
async def test_a_question_that_makes_no_sense_is_refused(mine: Party, body: object) -> None:
    (await asyncio.to_thread(mine._caller.post, "/api/openOffers", body)).envelope(400)
