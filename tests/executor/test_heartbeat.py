import asyncio
import threading

import pytest

from orth.executor.facts import Registered, RegistrationFailed
from orth.executor.heartbeat import Heartbeat
from orth.wire.messages import Announcement, RegistryRequest
from tests.executor.bench import Desk, Ears, HandClock

REQUEST = RegistryRequest(
    registry_key="rig-app", registry_value="http://127.0.0.1:9999", orth=Announcement(incarnation="i")
)


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def heartbeat(desk: Desk, clock: HandClock, ears: Ears) -> Heartbeat:
    return Heartbeat(lambda: REQUEST, desk, beat=30.0, clock=clock, events=ears)


async def test_the_first_turn_registers_and_the_next_comes_after_a_beat(
    heartbeat: Heartbeat, desk: Desk, ears: Ears
) -> None:
    assert await heartbeat.turn() == 30
    assert await heartbeat.turn() == 30
    assert desk.registered == [REQUEST, REQUEST]
    assert [event.address for event in ears.of(Registered)] == ["http://127.0.0.1:9999"], "told once, not every beat"


async def test_failures_are_repeated_sooner_than_the_beat_and_told(
    heartbeat: Heartbeat, desk: Desk, ears: Ears
) -> None:
    desk.away = True
    assert [await heartbeat.turn() for _ in range(7)] == [1, 2, 4, 5, 5, 5, 5]
    assert ears.of(RegistrationFailed)[0].error == "nobody at the desk"
    assert not heartbeat.registered
    desk.away = False
    assert await heartbeat.turn() == 30
    assert heartbeat.registered
    desk.away = True
    assert await heartbeat.turn() == 1
    desk.away = False
    await heartbeat.turn()
    assert len(ears.of(Registered)) == 2


async def test_leaving_says_goodbye_and_beats_no_more(heartbeat: Heartbeat, desk: Desk) -> None:
    await heartbeat.turn()
    await heartbeat.unregister(2)
    await heartbeat.turn()
    assert desk.unregistered == [REQUEST]
    assert desk.registered == [REQUEST]
    assert not heartbeat.registered


async def test_leaving_without_a_coordinator_is_quiet(heartbeat: Heartbeat, desk: Desk) -> None:
    desk.away = True
    await heartbeat.unregister(2)
    assert desk.unregistered == []


async def test_a_beat_on_its_way_arrives_before_the_goodbye(clock: HandClock, ears: Ears) -> None:
    order: list[str] = []
    beating, let_go = threading.Event(), threading.Event()

    class SlowDesk(Desk):
        def register(self, request: RegistryRequest) -> None:
            beating.set()
            assert let_go.wait(10)
            order.append("beat")

        def unregister(self, request: RegistryRequest) -> None:
            order.append("goodbye")

    heartbeat = Heartbeat(lambda: REQUEST, SlowDesk(), beat=30.0, clock=clock, events=ears)
    turn = asyncio.create_task(heartbeat.turn())
    assert await asyncio.to_thread(beating.wait, 10)
    leave = asyncio.create_task(heartbeat.unregister(10))
    await asyncio.sleep(0)
    let_go.set()
    await asyncio.gather(turn, leave)
    assert order == ["beat", "goodbye"]


async def test_a_coordinator_that_hangs_does_not_hold_up_leaving(clock: HandClock, ears: Ears) -> None:
    let_go = threading.Event()

    class HangingDesk(Desk):
        def unregister(self, request: RegistryRequest) -> None:
            let_go.wait(10)

    heartbeat = Heartbeat(lambda: REQUEST, HangingDesk(), beat=30.0, clock=clock, events=ears)
    async with asyncio.timeout(5):
        await heartbeat.unregister(0.05)
    let_go.set()


async def test_every_beat_says_what_is_true_then(desk: Desk, clock: HandClock, ears: Ears) -> None:
    said = iter([Announcement(incarnation="i", running=(1, 2)), Announcement(incarnation="i", running=(3,))])
    heartbeat = Heartbeat(
        lambda: REQUEST.model_copy(update={"orth": next(said)}), desk, beat=30.0, clock=clock, events=ears
    )
    await heartbeat.turn()
    await heartbeat.turn()
    assert [beat.orth.running for beat in desk.registered if beat.orth] == [(1, 2), (3,)]


async def test_hearing_from_a_coordinator_ends_the_wait_only_while_it_may_not_know_us(
    heartbeat: Heartbeat, desk: Desk, clock: HandClock
) -> None:
    desk.away = True
    await heartbeat.guarded_turn()
    assert heartbeat.paused_until > clock.monotonic()
    heartbeat.heard_from()
    assert heartbeat.paused_until == clock.monotonic()
    desk.away = False
    await heartbeat.guarded_turn()
    heartbeat.heard_from()
    assert heartbeat.paused_until == clock.monotonic() + 30
    await heartbeat.unregister(2)
    heartbeat.heard_from()
    assert heartbeat.paused_until == clock.monotonic() + 30
