"""A90: many small calls with one token leave the coordinator to the others."""

import asyncio
import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from orth.coordinator.http import from_executors
from orth.coordinator.http.executor_turns import OF_ONE_TOKEN, ExecutorTurns
from orth.errors import TooBusy
from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.test_crowded_apps import token_of

BODY = b"x" * 30_000
MALFORMED = json.dumps({"offers": [{"logId": number} for number in range(1_000)]}).encode()


async def test_bodies_are_read_one_at_a_time_while_everything_else_goes_on() -> None:
    turns, order = ExecutorTurns(), list[str]()

    async def call(token: str) -> None:
        async with turns.turn(token, len(BODY)) as turn:
            await turn.read(lambda _body: order.append(token), BODY)

    calls = [asyncio.create_task(call("thief")) for _ in range(40)]
    calls.append(asyncio.create_task(call("other")))
    read_before: list[int] = []
    while not all(one.done() for one in calls):
        read_before.append(len(order))
        await asyncio.sleep(0)
    steps = [after - before for before, after in pairwise(read_before)]
    assert max(steps) == 1, "the event loop reads one body, then does everything else that waits"
    assert order.index("other") <= 2, "a token with many calls waits for its own"


async def test_a_call_that_waits_for_a_message_gives_its_turn_back() -> None:
    turns = ExecutorTurns(of_one_token=1)
    async with turns.turn("a", 1) as waiting:
        waiting.end()
        async with asyncio.timeout(1), turns.turn("a", 1):
            pass
    async with asyncio.timeout(1), turns.turn("a", 1):
        pass


async def test_bodies_of_one_token_that_wait_take_little_memory() -> None:
    turns = ExecutorTurns()
    async with turns.turn("a", 20_000_000), turns.turn("b", 1):
        with pytest.raises(TooBusy):
            async with turns.turn("a", 1):
                raise AssertionError("one body of that size is enough")


def test_few_calls_of_one_token_are_carried_out_at_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, most = dict[str, int](), dict[str, int]()
    go = asyncio.Event()
    full = threading.Event()

    async def take(_tools: object, key: object, *_more: object, **_named: object) -> Sequence[object]:
        name = str(key)
        inside[name] = inside.get(name, 0) + 1
        most[name] = max(most.get(name, 0), inside[name])
        if sum(inside.values()) == OF_ONE_TOKEN + 1:
            full.set()
            go.set()
        async with asyncio.timeout(10):
            await go.wait()
        inside[name] -= 1
        return []

    monkeypatch.setattr(from_executors, "take_results", take)
    thief, other = token_of(site, "alpha"), token_of(site, "beta")
    body = json.dumps([{"logId": 1, "handleCode": 200}]).encode()

    def send(caller: Caller) -> int:
        return caller.call("POST", "/api/callback", raw=body).status

    with ThreadPoolExecutor(OF_ONE_TOKEN * 3 + 1) as senders:
        sent = [senders.submit(send, thief) for _ in range(OF_ONE_TOKEN * 3)]
        sent.append(senders.submit(send, other))
        assert full.wait(10), "a call of the other token has its turn"
        assert {one.result() for one in sent} == {200}
    assert max(most.values()) == OF_ONE_TOKEN


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/openOffers", MALFORMED, 400),
        ("/api/begun", MALFORMED, 400),
        ("/api/callback", b'{"a":1}', 400),
        ("/api/channels/take", MALFORMED, 413),
        ("/api/channels/take", b'{"queues":["orchestrix.job.dispatch.beta"],"consumer":"a"}', 403),
    ],
)
def test_a_refused_call_is_paid_for_and_good_ones_are_not(strict: Site, path: str, body: bytes, status: int) -> None:
    thief, other = token_of(strict, "alpha"), token_of(strict, "beta")
    good = json.dumps({"offers": []}).encode()
    for _ in range(50):
        thief.call("POST", "/api/openOffers", raw=good).envelope()
    answers = [thief.call("POST", path, raw=body) for _ in range(6)]
    assert answers[0].status == status
    assert answers[-1].status == 429
    assert int(answers[-1].headers["retry-after"]) >= 1
    other.call("POST", "/api/openOffers", raw=good).envelope()
    strict.clock.move(20)
    assert thief.call("POST", path, raw=body).status == status
