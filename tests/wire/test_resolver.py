"""Names are looked up in limited threads, and a name that hangs delays no other name (A89)."""

import asyncio
import socket
import threading
from dataclasses import replace

import pytest

from orth.testing import ManualClock
from orth.wire.resolver import (
    HostAddress,
    NameLookup,
    NameRecord,
    NameUnanswered,
    Resolver,
    ResolverLimits,
    domain_of,
    look_up,
    next_lookup,
    pause_after,
    record_after,
    threads_in_use,
)
from tests.store.builders import until
from tests.wire.fake_names import LONG, address_of, faked

SHORT = ResolverLimits(deadline=0.05, refresh_deadline=0.02)
"""For callers that get no answer."""
HONEST = "executor.honest.example"
EVIL = "h1.evil.example"
WITHIN = 30.0


async def ips(resolver: Resolver, name: str = HONEST) -> list[str]:
    async with asyncio.timeout(WITHIN):
        return [one.ip for one in await resolver.resolve(name)]


def at_once(resolver: Resolver, name: str) -> tuple[HostAddress, ...]:
    """The addresses, if the caller does not wait."""
    with pytest.raises(StopIteration) as done:
        resolver.resolve(name).send(None)
    found: tuple[HostAddress, ...] = done.value.value
    return found


async def asked_for(resolver: Resolver, names: list[str]) -> list["asyncio.Task[tuple[HostAddress, ...]]"]:
    """Callers that wait for these names."""
    tasks = [asyncio.create_task(resolver.resolve(name)) for name in names]
    await asyncio.sleep(0)  # each asks before it waits
    return tasks


async def left(tasks: list["asyncio.Task[tuple[HostAddress, ...]]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


# --- answers


@pytest.mark.parametrize("host", ["localhost", "LocalHost", "localhost.", "any.localhost", "localhost.localdomain"])
async def test_localhost_needs_no_lookup(host: str) -> None:
    with faked() as (names, resolver):
        assert await ips(resolver, host) in (["127.0.0.1", "::1"], ["127.0.0.1"])
        assert names.asked == []


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ("10.0.0.7", HostAddress(socket.AF_INET, "10.0.0.7")),
        ("[fd12::1]", HostAddress(socket.AF_INET6, "fd12::1")),
        ("::ffff:169.254.169.254", HostAddress(socket.AF_INET6, "::ffff:a9fe:a9fe")),
    ],
)
async def test_an_ip_address_needs_no_lookup(host: str, found: HostAddress) -> None:
    with faked() as (names, resolver):
        assert await resolver.resolve(host) == (found,)
        assert names.asked == []


async def test_callers_of_one_name_share_a_lookup_and_its_answer() -> None:
    with faked({HONEST: ["10.0.0.7", "fd12::7"]}) as (names, resolver):
        answers = await asyncio.gather(*(ips(resolver, name) for name in [HONEST, HONEST.upper()] * 5))
        assert answers == [["10.0.0.7", "fd12::7"]] * 10
        assert names.asked == [HONEST]


async def test_an_answer_serves_for_some_seconds() -> None:
    clock = ManualClock()
    with faked({HONEST: ["10.0.0.7"]}, clock=clock) as (names, resolver):
        assert await ips(resolver) == ["10.0.0.7"]
        names.answers[HONEST] = ["10.0.0.8"]
        clock.move(LONG.fresh - 1)
        assert await ips(resolver) == ["10.0.0.7"]
        clock.move(1)
        assert await ips(resolver) == ["10.0.0.8"]


async def test_a_name_without_an_address_fails_and_is_looked_up_again_soon() -> None:
    clock = ManualClock()
    with faked(clock=clock) as (names, resolver):
        for _ in range(3):
            with pytest.raises(socket.gaierror, match="not known"):
                await ips(resolver)
        assert names.asked == [HONEST]
        names.answers[HONEST] = ["10.0.0.7"]
        clock.move(LONG.failed)
        assert await ips(resolver) == ["10.0.0.7"]


async def test_a_text_that_cannot_be_a_name_fails() -> None:
    with pytest.raises(socket.gaierror):
        await ips(Resolver(look_up), "x" * 70 + ".example")


async def test_the_system_is_asked() -> None:
    assert address_of("127.0.0.1") in look_up("localhost")


# --- a name that hangs


async def test_a_name_that_hangs_fails_at_the_deadline_and_then_at_once() -> None:
    clock = ManualClock()
    with faked(limits=SHORT, clock=clock) as (names, resolver):
        with pytest.raises(NameUnanswered, match="do not answer in time"):
            await ips(resolver, EVIL)
        clock.move(1)
        for _ in range(3):
            with pytest.raises(NameUnanswered):
                at_once(resolver, EVIL)
        assert names.asked == [EVIL]


async def test_a_name_that_hung_is_not_looked_up_for_a_while() -> None:
    clock = ManualClock()
    with faked(limits=SHORT, clock=clock) as (names, resolver):
        names.failure = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        with pytest.raises(NameUnanswered):
            await ips(resolver, EVIL)
        clock.move(10)  # which the system waits for a name server
        names.released.set()
        await until(lambda: not names.hanging and EVIL in resolver._records, "the end of the lookup")
        clock.move(19)
        with pytest.raises(socket.gaierror, match="Temporary failure"):
            await ips(resolver, EVIL)
        assert names.asked == [EVIL]
        clock.move(1)
        with pytest.raises(socket.gaierror):
            await ips(resolver, EVIL)
        assert names.asked == [EVIL, EVIL]


async def test_a_late_answer_serves_the_next_caller() -> None:
    clock = ManualClock()
    with faked({EVIL: ["10.0.0.7"]}, SHORT, clock) as (names, resolver):
        with pytest.raises(NameUnanswered):
            await ips(resolver, EVIL)
        clock.move(5)
        names.released.set()
        await until(lambda: EVIL in resolver._records, "the end of the lookup")
        assert await ips(resolver, EVIL) == ["10.0.0.7"]
        assert names.asked == [EVIL]


async def test_an_older_answer_serves_while_the_name_hangs() -> None:
    clock = ManualClock()
    with faked({EVIL: ["10.0.0.7"]}, SHORT, clock) as (names, resolver):
        resolver._records[EVIL] = NameRecord((address_of("10.0.0.7"),), clock.monotonic(), None, 0.0)
        assert await ips(resolver, EVIL) == ["10.0.0.7"]
        clock.move(1)
        assert at_once(resolver, EVIL) == (address_of("10.0.0.7"),)
        assert names.asked == [EVIL]
        clock.move(SHORT.stale)
        with pytest.raises(NameUnanswered):
            await ips(resolver, EVIL)


# --- threads


async def test_hanging_names_of_one_domain_leave_threads_to_other_names() -> None:
    with faked({HONEST: ["10.0.0.7"]}) as (names, resolver):
        waiting = await asked_for(resolver, [f"h{number}.evil.example" for number in range(30)])
        await until(lambda: len(names.hanging) == LONG.threads_per_domain, "full threads")
        assert await ips(resolver) == ["10.0.0.7"]
        assert len(names.hanging) == LONG.threads_per_domain
        await left(waiting)
        assert resolver._queued == {}


async def test_hanging_names_of_many_domains_leave_threads_to_names_that_answered() -> None:
    clock = ManualClock()
    with faked({HONEST: ["10.0.0.7"]}, clock=clock) as (names, resolver):
        assert await ips(resolver) == ["10.0.0.7"]
        waiting = await asked_for(resolver, [f"h.evil{number}.example" for number in range(200)])
        await until(lambda: len(names.hanging) == LONG.threads_for_new_names, "full threads")
        clock.move(LONG.fresh)
        names.answers[HONEST] = ["10.0.0.8"]
        assert await ips(resolver) == ["10.0.0.8"]
        assert len(names.hanging) == LONG.threads_for_new_names
        await left(waiting)


async def test_names_that_answered_and_hang_now_leave_threads_to_new_names() -> None:
    evil = [f"h.evil{number}.example" for number in range(200)]
    with faked({HONEST: ["10.0.0.7"]}) as (names, resolver):
        resolver._records.update({name: NameRecord((address_of("10.9.9.9"),)) for name in evil})
        waiting = await asked_for(resolver, evil)
        await until(lambda: len(names.hanging) == LONG.threads_for_known_names, "full threads")
        assert await ips(resolver) == ["10.0.0.7"]
        await left(waiting)


async def test_a_name_that_waits_for_a_thread_gets_the_next_free_one() -> None:
    limits = replace(LONG, threads_for_new_names=2)
    with faked({HONEST: ["10.0.0.7"]}, limits) as (names, resolver):
        waiting = await asked_for(resolver, [f"h{number}.evil.example" for number in range(5)])
        await until(lambda: len(names.hanging) == 2, "full threads")
        (honest,) = await asked_for(resolver, [HONEST])
        assert HONEST not in names.asked
        names.released.set()
        assert await honest == (address_of("10.0.0.7"),)
        await left(waiting)


async def test_a_known_name_that_finds_no_thread_serves_its_older_answer() -> None:
    clock, evil = ManualClock(), [f"h.evil{number}.example" for number in range(40)]
    with faked({HONEST: ["10.0.0.7"]}, replace(LONG, refresh_deadline=0.05), clock) as (names, resolver):
        assert await ips(resolver) == ["10.0.0.7"]
        resolver._records.update({name: NameRecord((address_of("10.9.9.9"),), clock.monotonic()) for name in evil})
        waiting = await asked_for(resolver, evil)
        await until(lambda: len(names.hanging) == LONG.threads_for_known_names, "full threads")
        clock.move(LONG.fresh)
        assert await ips(resolver) == ["10.0.0.7"]
        assert at_once(resolver, HONEST) == (address_of("10.0.0.7"),)
        assert names.asked.count(HONEST) == 1
        await left(waiting)


async def test_a_system_without_threads_fails_the_lookup_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with faked({HONEST: ["10.0.0.7"]}) as (_names, resolver):
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refused)
            with pytest.raises(NameUnanswered, match="no thread"):
                await resolver.resolve(HONEST)
        assert await ips(resolver) == ["10.0.0.7"]


async def test_the_end_of_an_event_loop_ends_no_lookup() -> None:
    with faked({EVIL: ["10.0.0.7"]}) as (names, resolver):
        waiter = asyncio.new_event_loop()
        ended = waiter.create_future()
        waiter.close()
        waiting = await asked_for(resolver, [EVIL])
        resolver._running[EVIL].waiters.add(ended)
        names.released.set()
        assert await asyncio.gather(*waiting) == [(address_of("10.0.0.7"),)]


async def test_few_names_are_kept_and_first_those_with_an_answer() -> None:
    with faked({HONEST: ["10.0.0.7"]}, replace(LONG, names=3)) as (names, resolver):
        assert await ips(resolver) == ["10.0.0.7"]
        for number in range(5):
            with pytest.raises(socket.gaierror):
                await ips(resolver, f"h{number}.other.example")
        assert len(resolver._records) == 3
        assert await ips(resolver) == ["10.0.0.7"]
        assert names.asked.count(HONEST) == 1


# --- decisions


def test_a_free_thread_goes_to_the_domain_that_has_fewest() -> None:
    evil, other, honest = NameLookup(EVIL, True), NameLookup("h.other.example", True), NameLookup(HONEST, True)
    used = threads_in_use([evil, evil, other])
    assert next_lookup([evil, other, honest], used, LONG) is honest
    assert next_lookup([evil, other], used, LONG) is other
    assert next_lookup([evil], threads_in_use([evil] * LONG.threads_per_domain), LONG) is None


def test_a_failure_leaves_the_older_answer_unless_the_name_has_no_address() -> None:
    before = NameRecord((address_of("10.0.0.7"),), 100.0, None, 110.0)
    again, gone = (socket.EAI_AGAIN, "again"), (socket.EAI_NONAME, "gone")
    after = record_after(before, (), again, 0.1, 111.0, LONG)
    assert (after.addresses, after.answered_at, after.failure) == (before.addresses, 100.0, again)
    assert record_after(before, (), gone, 0.1, 111.0, LONG).addresses == ()


@pytest.mark.parametrize(
    ("took", "slow_in_a_row", "pause"),
    [(0.01, 0, 10.0), (1.0, 1, 10.0), (10.0, 1, 20.0), (10.0, 2, 40.0), (10.0, 4, 160.0), (10.0, 9, 300.0)],
)
def test_the_pause_grows_with_the_time_of_slow_lookups(took: float, slow_in_a_row: int, pause: float) -> None:
    assert pause_after(took, slow_in_a_row, LONG.fresh, LONG) == pause


@pytest.mark.parametrize(
    ("name", "domain"),
    [("h1.a.evil.example", "evil.example"), ("evil.example.", "evil.example"), ("executor-3", "executor-3")],
)
def test_the_domain_of_a_name_is_its_last_two_labels(name: str, domain: str) -> None:
    assert domain_of(name) == domain
