"""The gate before password checks: a few at once, a few waiting in fair order, the rest refused."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from orth.coordinator.http.auth import _ORIGINS_READ_EVERY
from orth.coordinator.signing import hash_password
from orth.coordinator.signing_in.gate import FairQueue, Gate, RecentSignIns, SignInPriority, Waiter
from orth.domain.networks import network_of, site_of
from orth.errors import TooBusy
from orth.settings import Settings
from orth.settings.sections import SecuritySection
from orth.store.users import add_user
from tests.coordinator.http.live import PASSWORD, Site

LOGIN = "/api/v1/auth/login"
KNOWN, NAMED, UNKNOWN = SignInPriority.KNOWN_CALLER, SignInPriority.KNOWN_NAME, SignInPriority.UNKNOWN
ATTACKERS = [f"127.1.{number // 5}.{number % 5 + 1}" for number in range(150)]


def waiter(address: str) -> Waiter:
    return Waiter(site_of(address), network_of(address))


async def test_a_few_at_once_a_few_waiting_the_rest_refused() -> None:
    gate = Gate(at_once=2, waiting=3)
    release = asyncio.Event()
    inside = most = 0

    async def enter() -> str:
        nonlocal inside, most
        try:
            async with gate.turn("10.0.0.1", "ann", UNKNOWN):
                inside += 1
                most = max(most, inside)
                await release.wait()
                inside -= 1
                return "served"
        except TooBusy:
            return "refused"

    visits = [asyncio.create_task(enter()) for _ in range(9)]
    for _ in range(10):
        await asyncio.sleep(0)
    release.set()
    assert sorted(await asyncio.gather(*visits)) == ["refused"] * 4 + ["served"] * 5
    assert most == 2
    async with gate.turn("10.0.0.1", "ann", UNKNOWN):
        assert inside == 0


async def test_a_caller_who_gives_up_waiting_frees_the_place() -> None:
    gate = Gate(at_once=1, waiting=1)

    async def enter() -> None:
        async with gate.turn("10.0.0.1", "ann", UNKNOWN):
            return

    async with gate.turn("10.0.0.1", "ann", UNKNOWN):
        waiting = asyncio.create_task(enter())
        await asyncio.sleep(0)
        with pytest.raises(TooBusy):
            await enter()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        waiting = asyncio.create_task(enter())
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting


async def test_a_caller_who_goes_just_when_its_turn_has_come_keeps_no_place() -> None:
    gate = Gate(at_once=1, waiting=1)
    inside = gate.turn("10.0.0.1", "ann", UNKNOWN)
    await inside.__aenter__()
    waiting = asyncio.create_task(gate.turn("10.0.0.2", "ann", UNKNOWN).__aenter__())
    await asyncio.sleep(0)
    await inside.__aexit__(None, None, None)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(5), gate.turn("10.0.0.3", "ann", UNKNOWN):
        pass


async def test_the_kinds_of_callers_take_turns() -> None:
    gate, order = Gate(at_once=1, waiting=10), list[SignInPriority]()

    async def enter(priority: SignInPriority, number: int) -> None:
        async with gate.turn(f"10.0.{number}.1", "ann", priority):
            order.append(priority)

    async with gate.turn("10.0.0.1", "ann", UNKNOWN):
        visits = [asyncio.create_task(enter(UNKNOWN, number)) for number in range(10)]
        visits += [asyncio.create_task(enter(kind, number)) for number in range(2) for kind in (NAMED, KNOWN)]
        await asyncio.sleep(0)
    await asyncio.gather(*visits)
    assert order[:6] == [KNOWN, NAMED, UNKNOWN] * 2


async def test_networks_take_turns_and_so_do_the_callers_of_one() -> None:
    queue = FairQueue(100)
    for address in ("2001:db8:1:1::1", "2001:db8:1:1::2", "2001:db8:1:2::1", "10.0.0.1", "10.0.0.2", "10.0.9.1"):
        assert queue.add(waiter(address)) is None
    taken = [one.network for one in iter(queue.take, None)]
    assert taken == [
        *("2001:db8:1:1::/64", "10.0.0.1", "10.0.9.1"),
        *("2001:db8:1:2::/64", "10.0.0.2"),
        "2001:db8:1:1::/64",
    ]
    assert len(queue) == 0


async def test_a_newcomer_takes_a_place_of_the_network_that_has_most() -> None:
    queue = FairQueue(10)
    crowd = [waiter(f"2001:db8:1:{number:x}::1") for number in range(10)]
    assert [queue.add(one) for one in crowd] == [None] * 10
    assert queue.add(one_more := waiter("2001:db8:1:ff::1")) is one_more
    newcomer = waiter("192.0.2.1")
    assert queue.add(newcomer) in crowd
    assert queue.add(waiter("192.0.2.2")) in crowd
    assert len(queue) == 10
    assert newcomer in [queue.take() for _ in range(2)]


def test_what_is_known_is_bounded_and_by_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orth.coordinator.signing_in.gate.REMEMBERED", 2)
    known = RecentSignIns()
    known.note("2001:db8::1", "ann")
    assert known.priority_of("2001:db8::ffff", "ann") is KNOWN
    assert known.priority_of("2001:db8::ffff", "bob") is UNKNOWN
    assert known.priority_of("192.0.2.1", "ann") is NAMED
    assert known.priority_of("192.0.2.1", "bob") is UNKNOWN
    known.note_all([("192.0.2.7", "bob"), ("192.0.2.8", "cleo")], 0)
    assert known.priority_of("2001:db8::1", "ann") is UNKNOWN


def test_a_name_gets_nothing_from_others_who_signed_in_from_its_address() -> None:
    known = RecentSignIns()
    known.note("192.0.2.1", "viewer")
    known.note("192.0.2.2", "admin")
    assert known.priority_of("192.0.2.1", "viewer") is KNOWN
    assert known.priority_of("192.0.2.1", "nobody") is UNKNOWN
    assert known.priority_of("192.0.2.1", "admin") is NAMED


async def test_one_user_from_many_known_addresses_keeps_no_other_user_out() -> None:
    gate, order = Gate(at_once=1, waiting=10), list[str]()

    async def enter(address: str, name: str) -> None:
        async with gate.turn(address, name, KNOWN):
            order.append(name)

    async with gate.turn("10.0.0.1", "viewer", KNOWN):
        viewer = [asyncio.create_task(enter(f"10.{number}.0.1", "viewer")) for number in range(24)]
        await asyncio.sleep(0)
        admin = asyncio.create_task(enter("192.0.2.1", "admin"))
        await asyncio.sleep(0)
    await admin
    refused = [one for one in await asyncio.gather(*viewer, return_exceptions=True) if isinstance(one, TooBusy)]
    assert len(refused) == 15
    assert "admin" in order[:2]


# --- the attack -------------------------------------------------------------------------------------------------------


@pytest.fixture
def site(prepared: Path, tmp_path: Path) -> Iterator[Site]:
    settings = Settings(security=SecuritySection(stranger_burst=1_000_000))
    with Site(Path(shutil.copy(prepared, tmp_path / "orth.db")), settings) as served:
        yield served


async def sign_in(site: Site, address: str, username: str, password: str) -> int:
    """The status of a try from a loopback address."""
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port, local_addr=(address, 0))
    body = json.dumps({"username": username, "password": password}).encode()
    head = f"POST {LOGIN} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
    try:
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return int((await reader.readline()).split()[1])
    finally:
        writer.close()


async def attack(site: Site, address: str, statuses: list[int]) -> None:
    for number in range(1_000_000):
        statuses.append(await sign_in(site, address, f"nobody-{address}-{number}", "wrong"))


@pytest.mark.usefixtures("costly_passwords")
async def test_strangers_from_many_addresses_keep_no_administrator_out(site: Site) -> None:
    assert await sign_in(site, "127.0.0.1", "admin", PASSWORD) == 200
    statuses: list[int] = []
    attackers = [asyncio.create_task(attack(site, one, statuses)) for one in ATTACKERS]
    try:
        async with asyncio.timeout(60):
            while statuses.count(429) < 30:  # noqa: ASYNC110  # the attack has filled what there is
                await asyncio.sleep(0.01)
            assert await sign_in(site, "127.0.0.1", "admin", PASSWORD) == 200, "from a known address"
            assert await sign_in(site, "127.77.0.1", "admin", PASSWORD) == 200, "from an unknown one"
    finally:
        for one in attackers:
            one.cancel()
        await asyncio.gather(*attackers, return_exceptions=True)


@pytest.mark.usefixtures("costly_passwords")
async def test_a_viewer_who_signed_in_from_many_addresses_keeps_no_administrator_out(site: Site) -> None:
    site.tx(add_user, "vic", hash_password(PASSWORD), "viewer", 0)
    sources = [f"127.{number + 60}.3.7" for number in range(24)]
    assert {await sign_in(site, one, "vic", PASSWORD) for one in sources} == {200}
    assert await sign_in(site, "127.0.0.1", "admin", PASSWORD) == 200
    statuses: list[int] = []
    attackers = [asyncio.create_task(attack(site, one, statuses)) for one in sources * 3]
    try:
        async with asyncio.timeout(60):
            while statuses.count(429) < 30:  # noqa: ASYNC110  # the attack has filled what there is
                await asyncio.sleep(0.01)
            found = [await sign_in(site, "127.0.0.1", "admin", PASSWORD) for _ in range(4)]
    finally:
        for one in attackers:
            one.cancel()
        await asyncio.gather(*attackers, return_exceptions=True)
    assert found == [200] * 4


async def test_sign_ins_at_other_coordinators_are_known(site: Site) -> None:
    known = site.app.state.tools.recent_sign_ins
    assert await sign_in(site, "127.0.0.1", "nobody", "wrong") == 401
    site.session()  # as another coordinator stores it
    site.clock.move(_ORIGINS_READ_EVERY)
    assert await sign_in(site, "127.0.0.2", "nobody", "wrong") == 401
    assert known.priority_of("127.9.9.9", "admin") is NAMED
