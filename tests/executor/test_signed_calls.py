"""Signed calls between a real executor and those who call it: replayed, stale, for another, plain (A04)."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from orth.clock import Clock, SystemClock
from orth.errors import Unavailable
from orth.events import Events
from orth.executor.handlers import Handlers
from orth.executor.runtime import Runtime
from orth.executor.settings import ExecutorSettings
from orth.serving import Server, bound
from orth.settings import Address
from orth.testing import ManualClock
from orth.wire.credentials import Credential, Refusal
from orth.wire.dialects import Dialect
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.executor_link import AnswerUnknown, NotLetIn
from orth.wire.messages import CallbackVerdict, LogRequest, RegistryRequest, RunRequest
from orth.wire.signatures import RECEIVER_HEADER, SIGNATURE_HEADER, TIME_HEADER, Key, Signer
from orth.wire.work_keys import new_work_key, work_key_of

TOKEN = "token-of-this-executor"


class Nobody:
    """Coordinators that take everything."""

    def register(self, request: RegistryRequest) -> None: ...

    def unregister(self, request: RegistryRequest) -> None: ...

    def tell_begun(self, report: object) -> frozenset[int]: ...  # type: ignore[empty-body]

    def call_back(self, items: object) -> list[CallbackVerdict]:
        raise Unavailable("later")


class Known:
    """What a coordinator believes of the executor, and what of its own process, once it has met that."""

    def __init__(
        self, credential: Credential, better: Credential | None = None, next_: Credential | None = None
    ) -> None:
        self.credential_ = credential
        self.better = better
        self.next, self.replaced = next_, next_ is not None

    async def credential(self, address: str, app_name: str, receiver: str = "") -> Credential:
        return self.credential_

    async def another(self, address: str, app_name: str, receiver: str, refused: Key) -> Credential | None:
        return self.better

    async def successor(self, address: str, app_name: str, receiver: str) -> Refusal:
        return Refusal(self.next, self.replaced)


@asynccontextmanager
async def serving(
    folder: Path,
    *,
    clock: Clock | None = None,
    must_sign: bool = False,
    work_key: str | None = None,
    show_token: bool = False,
) -> AsyncIterator[tuple[str, Runtime, list[str]]]:
    ran: list[str] = []
    handlers = Handlers("demo")

    @handlers.job("note")
    def note() -> str:
        ran.append("note")
        return "noted"

    settings = ExecutorSettings(
        app_name="demo",
        access_token=TOKEN,
        data_dir=folder,
        logs_dir=folder / "logs",
        require_signatures=must_sign,
        show_token=show_token,
    )
    with bound(Address("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        runtime = Runtime(
            handlers,
            settings,
            Nobody(),
            address=address,
            incarnation="incarnation-a",
            clock=clock or SystemClock(),
            events=Events(),
            work_key=work_key,
        )
        runtime.start()
        server = Server(runtime.http, keep_alive=5, websockets=False)
        task = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield address, runtime, ran
        finally:
            server.should_exit = True
            await task
            await asyncio.to_thread(runtime.threads.drain, 1.0)
            runtime.close()


def trigger(log_id: int = 1) -> RunRequest:
    return RunRequest(job_id=1, executor_handler="note", log_id=log_id)


async def sent(address: str, headers: dict[str, str], body: bytes, path: str = "/run") -> tuple[int, Mapping[str, str]]:
    headers = {"Content-Type": "application/json", **headers}
    async with aiohttp.ClientSession() as session, session.post(address + path, data=body, headers=headers) as answer:
        await answer.read()
        return answer.status, answer.headers


async def test_a_captured_trigger_is_good_once_here_and_now(tmp_path: Path) -> None:
    """A04: replayed, changed, sent elsewhere: 401, and nothing runs."""
    clock = ManualClock()
    async with serving(tmp_path / "a", clock=clock) as (address, runtime, _ran):
        signer = Signer("node-1", clock)
        signer.expect(address, "incarnation-a")
        body = trigger().model_dump_json(by_alias=True).encode()
        captured = signer.header(TOKEN, address, "POST", "/run", body)
        assert (await sent(address, captured, body))[0] == 200
        await asyncio.to_thread(runtime.join_idle, 10)
        held = runtime.outbox.waiting()
        for refused in (
            await sent(address, captured, body),
            await sent(address, captured, body.replace(b"note", b"evil")),
            await sent(address, captured, body, path="/runs"),
            await sent(address, {**captured, "ORTH-ACCESS-TOKEN": TOKEN}, body),
        ):
            assert refused[0] == 401
            assert refused[1][RECEIVER_HEADER] == "incarnation-a"
            assert refused[1][TIME_HEADER] == str(clock.now())
        other = Signer("node-1", clock)
        other.expect(address, "incarnation-b")
        assert (await sent(address, other.header(TOKEN, address, "POST", "/run", body), body))[0] == 401
        late = signer.header(TOKEN, address, "POST", "/run", body)
        clock.jump(61)
        assert (await sent(address, late, body))[0] == 401
        assert (await sent(address, {SIGNATURE_HEADER: "1;nonsense"}, body))[0] == 401
        assert runtime.quiet()
        assert runtime.outbox.waiting() == held


async def test_a_coordinator_that_knows_little_learns_by_one_refusal(tmp_path: Path) -> None:
    """Another incarnation than it thought, and a clock that is an hour off."""
    clock = ManualClock()
    async with serving(tmp_path) as (address, runtime, ran):
        registered = Credential(TOKEN, signed=True, receiver="incarnation-a")
        known = Known(Credential(TOKEN, signed=True, receiver="an earlier process"), next_=registered)
        calls = ExecutorCalls(timeout=5, credentials=known, signer=Signer("node-1", clock))
        async with calls as link:
            assert (await link.run(address, trigger(), token="not used")).ok
            assert await link.run_all(address, [trigger(2), trigger(3)], token="", extensions=frozenset({"batch-run"}))
            await asyncio.to_thread(runtime.join_idle, 10)
            assert (await link.log(address, LogRequest(log_id=1), token="")).end
        assert len(ran) == 3


async def test_a_bare_token_is_good_until_signatures_are_required(tmp_path: Path) -> None:
    for must_sign in (False, True):
        async with serving(tmp_path / str(must_sign), must_sign=must_sign) as (address, _runtime, _ran):
            status, told = await sent(address, {"ORTH-ACCESS-TOKEN": TOKEN}, b"{}", "/beat")
            assert status == (401 if must_sign else 200)
            assert RECEIVER_HEADER not in told
            assert (await sent(address, {"ORTH-ACCESS-TOKEN": "wrong"}, b"{}", "/beat"))[0] == 401


async def test_what_an_executor_tells_of_its_health(tmp_path: Path) -> None:
    """A80: who proves nothing learns whether it works, and no more."""
    async with serving(tmp_path, must_sign=True) as (address, _runtime, _ran):
        signer = Signer("node-1", SystemClock())
        signer.expect(address, "incarnation-a")
        signed = signer.header(TOKEN, address, "GET", "/health", b"")
        async with aiohttp.ClientSession() as session:
            for headers, members in (({}, 1), ({"ORTH-ACCESS-TOKEN": TOKEN}, 1), (signed, 8)):
                async with session.get(f"{address}/health", headers=headers) as answer:
                    assert len(await answer.json()) == members


PATHS: dict[str, dict[str, object]] = {
    "/run": {"jobId": 1, "executorHandler": "note", "logId": 7},
    "/trigger": {"jobId": 1, "executorHandler": "note", "logId": 8},
    "/runs": {"requests": [{"jobId": 1, "executorHandler": "note", "logId": 9}]},
    "/idleBeat": {"jobId": 1},
    "/kill": {"jobId": 1},
    "/log": {"logId": 1, "logDateTim": 0, "fromLineNum": 1},
}


async def test_a_stolen_token_opens_nothing_once_a_coordinator_has_the_work_key(tmp_path: Path) -> None:
    """Neither shown nor proved; it is told, counted and reported."""
    work_key = new_work_key()
    async with serving(tmp_path, work_key=work_key) as (address, runtime, ran):
        assert runtime.announced().orth.work_key == work_key  # type: ignore[union-attr]  # our own
        runtime._beat_taken(runtime.announced(), work_key_of(TOKEN, work_key).id)
        signer = Signer("thief", SystemClock())
        signer.expect(address, "incarnation-a")
        for path, said in PATHS.items():
            body = json.dumps(said).encode()
            for headers in ({"ORTH-ACCESS-TOKEN": TOKEN}, signer.header(TOKEN, address, "POST", path, body)):
                status, told = await sent(address, headers, body, path)
                assert (status, told[RECEIVER_HEADER]) == (401, "incarnation-a")
        assert runtime.quiet()
        assert ran == []
        assert {(one.path, one.reason, one.count) for one in runtime.turned_away.report()} == {
            (path, "work_key", 2) for path in PATHS
        }
        assert (await sent(address, {"ORTH-ACCESS-TOKEN": TOKEN}, b"{}", "/beat"))[0] == 200
        known = Known(Credential(TOKEN, True, "incarnation-a", work_key_of(TOKEN, work_key)))
        async with ExecutorCalls(timeout=5, credentials=known, signer=Signer("node-1", SystemClock())) as link:
            assert (await link.run(address, trigger(), token="")).ok
            await asyncio.to_thread(runtime.join_idle, 10)
            assert (await link.log(address, LogRequest(log_id=1), token="")).end
        assert ran == ["note"]


async def test_a_coordinator_with_the_key_of_the_process_before_tries_another(tmp_path: Path) -> None:
    """And says that it was not sent, if it knows none: that is no failure of the trigger."""
    work_key = new_work_key()
    good = Credential(TOKEN, True, "incarnation-a", work_key_of(TOKEN, work_key))
    stale = Credential(TOKEN, True, "the process before", work_key_of(TOKEN, new_work_key()))
    async with serving(tmp_path, work_key=work_key, must_sign=True) as (address, runtime, ran):
        signer = Signer("node-1", SystemClock())
        async with ExecutorCalls(timeout=5, credentials=Known(stale), signer=signer) as link:
            with pytest.raises(NotLetIn, match="does not accept what was registered"):
                await link.run(address, trigger(), token="")
        assert [one.reason for one in runtime.turned_away.report()] == ["receiver", "signature"]
        async with ExecutorCalls(timeout=5, credentials=Known(stale, good), signer=signer) as link:
            assert (await link.run(address, trigger(), token="")).ok
        await asyncio.to_thread(runtime.join_idle, 10)
        assert ran == ["note"]


async def test_a_process_that_the_registry_does_not_know_settles_nothing(tmp_path: Path) -> None:
    """It proves the token that it shares with the process that was asked: that one may be elsewhere, and take it."""
    async with serving(tmp_path) as (address, _runtime, ran):
        known = Known(Credential(TOKEN, signed=True, receiver="another process"))
        async with ExecutorCalls(timeout=5, credentials=known, signer=Signer("node-1", SystemClock())) as link:
            with pytest.raises(AnswerUnknown, match="nothing proves"):
                await link.run(address, trigger(), token="")
        known.replaced = True
        async with ExecutorCalls(timeout=5, credentials=known, signer=Signer("node-1", SystemClock())) as link:
            with pytest.raises(NotLetIn, match="does not accept what was registered"):
                await link.run(address, trigger(), token="")
        assert ran == []


@pytest.mark.parametrize("dialect", [Dialect.AUTO, Dialect.XXL])
async def test_who_shows_the_token_learns_that_the_work_key_is_needed(tmp_path: Path, dialect: Dialect) -> None:
    """An address that was written by hand: who is there is known only when it answers."""
    work_key = new_work_key()
    good = Credential(TOKEN, True, "incarnation-a", work_key_of(TOKEN, work_key))

    class ByHand(Known):
        async def credential(self, address: str, app_name: str, receiver: str = "") -> Credential:
            return good if receiver == "incarnation-a" else Credential(TOKEN)

    async with serving(tmp_path, work_key=work_key) as (address, runtime, ran):
        runtime._beat_taken(runtime.announced(), good.key.id)
        signer = Signer("node-1", SystemClock())
        async with ExecutorCalls(timeout=5, credentials=ByHand(good), signer=signer) as link:
            assert (await link.run(address, trigger(), token="", dialect=dialect)).ok
        await asyncio.to_thread(runtime.join_idle, 10)
        assert ran == ["note"]
        async with ExecutorCalls(timeout=5, credentials=Known(Credential(TOKEN)), signer=signer) as link:
            with pytest.raises(NotLetIn, match="work key"):  # nothing was done: that is no failure of the trigger
                await link.run(address, trigger(2), token="", dialect=dialect)


@pytest.mark.parametrize("knows_work_keys", [False, True])
async def test_who_asks_while_the_first_beat_is_answered_is_held_back_until_then(
    tmp_path: Path, knows_work_keys: bool
) -> None:
    """A coordinator may send work the moment it has taken the beat."""
    work_key = new_work_key()
    async with serving(tmp_path, work_key=work_key, show_token=True) as (address, runtime, ran):
        body = trigger().model_dump_json(by_alias=True).encode()
        asking = asyncio.create_task(sent(address, {"ORTH-ACCESS-TOKEN": TOKEN}, body))
        async with asyncio.timeout(10):
            while not runtime.endpoints.callers._waiting:  # noqa: ASYNC110  # nobody tells when it waits
                await asyncio.sleep(0.005)
        assert not asking.done()
        known = work_key_of(TOKEN, work_key).id if knows_work_keys else None
        await asyncio.to_thread(runtime._beat_taken, runtime.announced(), known)
        assert (await asking)[0] == (401 if knows_work_keys else 200)
        await asyncio.to_thread(runtime.join_idle, 10)
        assert ran == ([] if knows_work_keys else ["note"])


async def test_who_asks_too_early_is_told_of_unless_it_proves_itself(tmp_path: Path) -> None:
    work_key = new_work_key()
    async with serving(tmp_path, work_key=work_key, show_token=True) as (address, runtime, ran):
        assert (await sent(address, {"ORTH-ACCESS-TOKEN": TOKEN}, b"{}"))[0] == 401
        assert [(one.path, one.reason) for one in runtime.turned_away.report()] == [("/run", "early")]
        known = Known(Credential(TOKEN, True, "incarnation-a", work_key_of(TOKEN, work_key)))
        async with ExecutorCalls(timeout=5, credentials=known, signer=Signer("node-1", SystemClock())) as link:
            assert (await link.run(address, trigger(), token="")).ok
        await asyncio.to_thread(runtime.join_idle, 10)
        assert ran == ["note"]
        assert runtime.turned_away.report() == ()
