"""A coordinator's calls on real sockets: what surely did not arrive, what may have, and what was answered."""

import asyncio
import functools
import gzip
import json
import time
from collections.abc import AsyncIterator, Callable
from itertools import cycle

import pytest

from orth.clock import SystemClock
from orth.errors import Invalid, Unavailable
from orth.wire.credentials import Credential, Refusal
from orth.wire.dialects import Dialect, read_run
from orth.wire.executor_calls import LOG_REPLY_LIMIT, STATE_REPLY_LIMIT, ExecutorCalls
from orth.wire.executor_link import AnswerUnknown, ExecutorLink, NotAnExecutor, NotLetIn, NotSent
from orth.wire.fields import BODY_LIMIT
from orth.wire.messages import MISDIRECTED, UNAVAILABLE, Extension, LogPage, LogRequest, RunRequest
from orth.wire.network_reasons import place_of
from orth.wire.signatures import Key, Signer, read_signature
from tests.wire.peers import Behaviour, Exchange, Peer, answering, not_accepting, refusing, serving_one_at_a_time

TIMEOUT = 0.5
ZIPPED = gzip.compress(b'{"code":200}')  # nobody asked for it: what is not unpacked cannot be a bomb
OURS = frozenset(Extension)
TRIGGER = RunRequest(job_id=1, log_id=2, executor_handler="h", schedule_time=3)


@pytest.fixture
async def calls() -> AsyncIterator[ExecutorCalls]:
    async with ExecutorCalls(timeout=TIMEOUT) as opened:
        yield opened


class Signing:
    """Executors that announced that they read signatures."""

    async def credential(self, address: str, app_name: str, receiver: str = "") -> Credential:
        return Credential("token", signed=True, receiver="incarnation")

    async def another(self, address: str, app_name: str, receiver: str, refused: Key) -> None:
        return None

    async def successor(self, address: str, app_name: str, receiver: str) -> Refusal:
        return Refusal(None, False)


async def until(condition: Callable[[], object], what: str) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  # it looks at what another thread has done
            await asyncio.sleep(0.01)
    assert condition(), what


def resetting(exchange: Exchange) -> None:
    exchange.reset()


def closing(exchange: Exchange) -> None:
    exchange.close()


def hanging(exchange: Exchange) -> None:
    exchange.hang()


def dripping_head(exchange: Exchange) -> None:
    exchange.drip(b"HTTP/1.1 200 OK\r\n" + b"X-Padding: y\r\n" * 1_000)


def dripping_body(exchange: Exchange) -> None:
    exchange.sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    exchange.drip(b" " * 100_000)


def truncated(exchange: Exchange) -> None:
    exchange.sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"code":200}')
    exchange.close()


def not_http(exchange: Exchange) -> None:
    exchange.sock.sendall(b"\x00\x01\x02 hello\r\n\r\n")


class TestWhatIsSent:
    async def test_a_trigger_for_an_executor_that_announced_nothing(self, calls: ExecutorCalls) -> None:
        with Peer(answering(msg="queued")) as executor:
            reply = await calls.run(executor.address + "/", TRIGGER, token="secret", app_name="demo")
        assert reply.ok
        assert reply.msg == "queued"
        (request,) = executor.requests
        assert request.path == "/run"
        assert "scheduleTime" not in json.loads(request.body)
        assert request.headers["xxl-job-access-token"] == request.headers["orth-access-token"] == "secret"
        assert request.headers["content-type"] == "application/json;charset=UTF-8"
        assert request.headers["accept-encoding"] == "identity"

    async def test_a_trigger_for_ours(self, calls: ExecutorCalls) -> None:
        with Peer(answering()) as executor:
            await calls.run(executor.address, TRIGGER, token="", extensions=frozenset(Extension))
        assert read_run(executor.requests[0].body) == TRIGGER

    async def test_a_trigger_for_the_newest_generation_and_a_path(self, calls: ExecutorCalls) -> None:
        with Peer(answering()) as executor:
            address = executor.address + "/job"
            await calls.run(address, TRIGGER, token="secret", app_name="demo", dialect=Dialect.XXL35)
        (request,) = executor.requests
        assert request.path == "/job/trigger"
        assert request.headers["xxl-job-appname"] == "demo"

    async def test_a_beat_has_a_body(self, calls: ExecutorCalls) -> None:
        with Peer(answering()) as executor:
            assert (await calls.beat(executor.address, token="")).ok
        assert (executor.requests[0].path, executor.requests[0].body) == ("/beat", b"{}")

    async def test_idle_beat(self, calls: ExecutorCalls) -> None:
        with Peer(answering(code=500, msg="busy")) as executor:
            reply = await calls.idle_beat(executor.address, 7, token="")
        assert (reply.code, reply.msg) == (500, "busy")
        assert (executor.requests[0].path, executor.requests[0].json()) == ("/idleBeat", {"jobId": 7})

    async def test_kill_names_the_execution_only_where_that_is_understood(self, calls: ExecutorCalls) -> None:
        with Peer(answering()) as executor:
            await calls.kill(executor.address, 7, 9, token="")
            await calls.kill(executor.address, 7, 9, token="", extensions=frozenset({Extension.KILL_EXECUTION}))
        assert [request.json() for request in executor.requests] == [{"jobId": 7}, {"jobId": 7, "logId": 9}]

    async def test_log(self, calls: ExecutorCalls) -> None:
        payload = {"fromLineNum": 5, "toLineNum": 6, "logContent": "a\nb", "isEnd": False}
        with Peer(answering(payload)) as executor:
            request = LogRequest(log_id=2, log_date_time=3, from_line_num=5)
            page = await calls.log(executor.address, request, token="")
        assert page == LogPage(from_line=5, to_line=6, content="a\nb")
        sent = {"logId": 2, "logDateTime": 3, "logDateTim": 3, "fromLineNum": 5}
        assert (executor.requests[0].path, executor.requests[0].json()) == ("/log", sent)

    async def test_a_long_page_of_log_is_taken_up_to_its_limit(self, calls: ExecutorCalls) -> None:
        text = "x" * (BODY_LIMIT + 1)
        with Peer(answering({"fromLineNum": 1, "toLineNum": 1, "logContent": text})) as executor:
            page = await calls.log(executor.address, LogRequest(log_id=2), token="")
        assert page.content == text
        endless = Peer(lambda exchange: exchange.respond(b" " * (LOG_REPLY_LIMIT + 1)))
        with endless as executor, pytest.raises(Unavailable, match="larger than"):
            await calls.log(executor.address, LogRequest(log_id=2), token="")

    async def test_a_log_that_is_refused_says_why(self, calls: ExecutorCalls) -> None:
        refusal = Peer(answering(code=500, msg="no such file"))
        with refusal as executor, pytest.raises(Unavailable, match="no such file"):
            await calls.log(executor.address, LogRequest(log_id=2), token="")

    async def test_the_environment_does_not_choose_the_way(
        self, calls: ExecutorCalls, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with refusing() as nowhere, Peer(answering()) as executor:
            monkeypatch.setenv("http_proxy", nowhere)
            monkeypatch.setenv("HTTP_PROXY", nowhere)
            assert (await calls.beat(executor.address, token="")).ok

    async def test_cookies_are_not_kept(self, calls: ExecutorCalls) -> None:
        with Peer(lambda exchange: exchange.respond(b'{"code":200}', Set_Cookie="a=b")) as executor:
            await calls.beat(executor.address, token="")
            await calls.beat(executor.address, token="")
        assert len(executor.requests) == 2
        assert all("cookie" not in request.headers for request in executor.requests)

    @pytest.mark.parametrize("address", ["file:///x", "http://a@b:1", "http://a:1\r\nX: y", "host:1"])
    async def test_an_impossible_address_is_not_tried(self, calls: ExecutorCalls, address: str) -> None:
        with pytest.raises(Invalid):
            await calls.beat(address, token="")


class TestNotSent:
    async def test_refused(self, calls: ExecutorCalls) -> None:
        with refusing() as address, pytest.raises(NotSent) as failed:
            await calls.run(address, TRIGGER, token="")
        assert str(failed.value) == f"{place_of(address)} refused the connection."
        assert failed.value.nobody_listens

    async def test_no_such_name(self, calls: ExecutorCalls) -> None:
        with pytest.raises(NotSent) as failed:
            await calls.run("http://no-such-host.invalid:9999", TRIGGER, token="")
        assert not failed.value.nobody_listens

    async def test_nobody_accepts(self, calls: ExecutorCalls) -> None:
        started = time.monotonic()
        with not_accepting() as address, pytest.raises(NotSent, match="no answer within") as failed:
            await calls.run(address, TRIGGER, token="")
        assert not failed.value.nobody_listens
        assert time.monotonic() - started < TIMEOUT + 2

    async def test_no_tls_there(self, calls: ExecutorCalls) -> None:
        with Peer(answering()) as executor, pytest.raises(NotSent):
            await calls.run(executor.address.replace("http:", "https:"), TRIGGER, token="")
        assert executor.requests == []

    async def test_no_connection_became_free(self) -> None:
        async with ExecutorCalls(timeout=TIMEOUT, per_executor=1) as calls:
            with Peer(hanging) as executor:
                triggers = (calls.run(executor.address, TRIGGER, token="") for _ in range(20))
                outcomes = await asyncio.gather(*triggers, return_exceptions=True)
        unknown = [outcome for outcome in outcomes if isinstance(outcome, AnswerUnknown)]
        unsent = [outcome for outcome in outcomes if isinstance(outcome, NotSent)]
        assert len(unknown) + len(unsent) == 20
        assert unsent
        # The first to give up frees its connection, and others may just get it before they give up as well.
        assert 1 <= len(executor.requests) <= len(unknown)


_BROKEN = ("hang", "reset", "close", "drip head", "drip body", "truncated", "not HTTP", "huge")


class TestAnswerUnknown:
    @pytest.mark.parametrize(
        "behaviour",
        [
            hanging,
            resetting,
            closing,
            dripping_head,
            dripping_body,
            truncated,
            not_http,
            lambda exchange: exchange.respond(b" " * (BODY_LIMIT + 1)),
            lambda exchange: exchange.respond(b"<html>Bad Gateway</html>", 502, "text/html"),
            lambda exchange: exchange.respond(b"<html>Gateway Timeout</html>", 504, "text/html"),
            lambda exchange: exchange.respond(b"<html>Request Timeout</html>", 408, "text/html"),
            lambda exchange: exchange.respond(b"<html>A timeout occurred</html>", 524, "text/html"),
        ],
        ids=[*_BROKEN, "502", "504", "408", "524"],
    )
    async def test_the_executor_may_have_it(self, calls: ExecutorCalls, behaviour: Behaviour) -> None:
        started = time.monotonic()
        with Peer(behaviour) as executor:
            with pytest.raises(AnswerUnknown) as failed:
                await calls.run(executor.address, TRIGGER, token="")
            assert time.monotonic() - started < TIMEOUT + 2
        assert len(executor.requests) == 1, "a trigger is never repeated on its own"
        assert executor.address in str(failed.value)

    async def test_a_reset_on_a_used_connection_is_unknown_and_not_repeated(self, calls: ExecutorCalls) -> None:
        turns = iter([answering(), resetting])
        with Peer(lambda exchange: next(turns)(exchange)) as executor:
            await calls.run(executor.address, TRIGGER, token="", extensions=OURS)
            with pytest.raises(AnswerUnknown):
                await calls.run(executor.address, TRIGGER, token="", extensions=OURS)
        assert len(executor.requests) == 2
        assert len(executor.connections) == 1


class TestAnswered:
    @pytest.mark.parametrize(
        ("behaviour", "code", "said"),
        [
            (lambda exchange: exchange.respond(b'{"code":200}', content_type="text/html;charset=UTF-8"), 200, ""),
            (lambda exchange: exchange.respond(b'{"code":500}'), 500, ""),
            (lambda exchange: exchange.respond(b'{"code":500,"msg":"no handler"}'), 500, "no handler"),
            (lambda exchange: exchange.respond(b'["a"]'), 500, '["a"]'),
            (lambda exchange: exchange.respond(b""), 500, "nothing"),
            (lambda exchange: exchange.respond(b"500: trouble", 500, "text/plain"), 500, "trouble"),
            (lambda exchange: exchange.respond(b"no", 404, "text/plain"), 500, "HTTP 404"),
            (lambda exchange: exchange.respond(b'{"code":401,"msg":"wrong token"}', 401), 401, "wrong token"),
            (lambda exchange: exchange.respond(ZIPPED, Content_Encoding="gzip"), 500, "HTTP 200"),
        ],
        ids=["text/html", "no msg", "refused", "array", "empty", "text 500", "404", "401", "gzip"],
    )
    async def test_an_answer_is_a_reply(self, calls: ExecutorCalls, behaviour: Behaviour, code: int, said: str) -> None:
        with Peer(behaviour) as executor:
            reply = await calls.run(executor.address, TRIGGER, token="")
        assert reply.code == code
        assert said in (reply.msg or "")

    async def test_a_redirect_is_a_failure_and_goes_nowhere(self, calls: ExecutorCalls) -> None:
        with Peer(answering()) as elsewhere:
            location = elsewhere.address
            with Peer(lambda exchange: exchange.respond(b"", 302, Location=location)) as executor:
                reply = await calls.run(executor.address, TRIGGER, token="secret")
        assert not reply.ok
        assert "302" in (reply.msg or "")
        assert elsewhere.requests == []

    async def test_connections_to_ours_are_used_again(self, calls: ExecutorCalls) -> None:
        with Peer(answering()) as executor:
            for _ in range(5):
                assert (await calls.run(executor.address, TRIGGER, token="", extensions=OURS)).ok
                await calls.run_all(executor.address, [TRIGGER], token="", extensions=OURS)
        assert len(executor.requests) == 10
        assert len(executor.connections) == 1

    async def test_so_are_those_to_whoever_reads_signatures(self) -> None:
        signer = Signer("node", SystemClock())
        async with ExecutorCalls(timeout=TIMEOUT, credentials=Signing(), signer=signer) as calls:
            with Peer(answering()) as executor:
                for _ in range(3):
                    assert (await calls.beat(executor.address, token="")).ok
                    assert (await calls.idle_beat(executor.address, 7, token="")).ok
        assert len(executor.connections) == 1

    async def test_a_trigger_whose_refusal_nothing_proves_may_still_arrive(self) -> None:
        """A87: who can change answers refuses it, keeps it and uses it later; whatever time and process he names."""

        def refuse(exchange: Exchange) -> None:
            told = {"ORTH_RECEIVER": next(names), "ORTH_TIME": "1700000000000", "ORTH_PROOF": f"{'0' * 16}:{'0' * 64}"}
            exchange.respond(b'{"code":401,"msg":"no"}', 401, **told)

        names = cycle(("incarnation", "another"))
        signer = Signer("node", SystemClock())
        async with ExecutorCalls(timeout=TIMEOUT, credentials=Signing(), signer=signer) as calls:
            with Peer(refuse) as executor:
                for _ in range(2):
                    with pytest.raises(AnswerUnknown, match="nothing proves"):
                        await calls.run(executor.address, TRIGGER, token="", extensions=OURS)
                with pytest.raises(NotLetIn):
                    await calls.kill(executor.address, 7, token="", extensions=OURS)
        signed = [read_signature(request.headers["orth-signature"]) for request in executor.requests]
        assert {one.receiver for one in signed} == {"incarnation"}
        assert max(abs(one.time - SystemClock().now()) for one in signed) < 60_000

    @pytest.mark.parametrize("code", [200, 500, MISDIRECTED, UNAVAILABLE])
    async def test_an_answer_to_a_trigger_that_nothing_proves_is_none(self, code: int) -> None:
        """From executors that prove theirs. A forged refusal would have it sent to another one, too."""

        class Proving(Signing):
            async def credential(self, address: str, app_name: str, receiver: str = "") -> Credential:
                return Credential("token", signed=True, receiver="incarnation", proves=True)

        signer = Signer("node", SystemClock())
        async with ExecutorCalls(timeout=TIMEOUT, credentials=Proving(), signer=signer) as calls:
            with Peer(answering(code=code)) as executor:
                with pytest.raises(AnswerUnknown, match="nothing proves"):
                    await calls.run(executor.address, TRIGGER, token="", extensions=OURS)
                assert (await calls.kill(executor.address, 7, token="", extensions=OURS)).code == code

    async def test_no_connection_to_others_is_kept_even_if_they_would(self, calls: ExecutorCalls) -> None:
        with Peer(answering()) as executor:  # it closes nothing by itself
            there, asked = executor.address, LogRequest(log_id=2)
            for call in (
                calls.beat(there, token=""),
                calls.idle_beat(there, 7, token=""),
                calls.run(there, TRIGGER, token=""),
                calls.run(there, TRIGGER, token="", dialect=Dialect.ORTH),
                calls.kill(there, 7, token=""),
                calls.log(there, asked, token=""),
                anext(calls.log_pages(there, asked, token="")),
            ):
                await call
            await until(lambda: all(sock.fileno() == -1 for sock in executor.connections), "its connections end")
        assert len(executor.connections) == len(executor.requests) == 7
        assert {request.headers["connection"] for request in executor.requests} == {"close"}

    async def test_who_serves_one_connection_at_a_time_is_open_to_all(self) -> None:
        async with ExecutorCalls(timeout=5) as probing, ExecutorCalls(timeout=5) as sending:
            with serving_one_at_a_time() as address:
                for _ in range(3):
                    assert (await probing.beat(address, token="")).ok
                    assert (await sending.run(address, TRIGGER, token="")).ok

    async def test_one_executor_gets_at_most_its_share_of_connections(self) -> None:
        async with ExecutorCalls(timeout=10, per_executor=4) as calls:
            with Peer(answering()) as executor:
                replies = await asyncio.gather(*(calls.run(executor.address, TRIGGER, token="") for _ in range(64)))
        assert all(reply.ok for reply in replies)
        assert len(executor.requests) == 64
        assert len(executor.connections) == 64, "of one make that is not ours: one each"

    async def test_ours_get_at_most_their_share_too(self) -> None:
        async with ExecutorCalls(timeout=10, per_executor=4) as calls:
            with Peer(answering()) as executor:
                trigger = functools.partial(calls.run, executor.address, TRIGGER, token="", extensions=OURS)
                replies = await asyncio.gather(*(trigger() for _ in range(64)))
        assert all(reply.ok for reply in replies)
        assert len(executor.connections) <= 4

    @pytest.mark.parametrize(
        ("body", "status", "said"),
        [
            (b"<html>Welcome</html>", 200, "HTTP 200"),
            (b"<html>Not Found</html>", 404, "HTTP 404"),
            (b"<html>no backend</html>", 503, "HTTP 503"),
            (b'{"detail":"Not Found"}', 404, "Not Found"),
            (b"", 200, "nothing"),
        ],
        ids=["a page", "no page", "a gateway", "json", "empty"],
    )
    async def test_a_beat_is_answered_by_executors_alone(
        self, calls: ExecutorCalls, body: bytes, status: int, said: str
    ) -> None:
        something_else = Peer(lambda exchange: exchange.respond(body, status))
        with something_else as other, pytest.raises(NotAnExecutor, match=said):
            await calls.beat(other.address, token="")

    @pytest.mark.parametrize(
        ("body", "status", "ok"),
        [(b'{"code":200}', 200, True), (b'{"code":500,"msg":"no"}', 200, False), (b'{"code":401}', 401, False)],
    )
    async def test_a_beat_has_the_word_of_the_executor(
        self, calls: ExecutorCalls, body: bytes, status: int, ok: bool
    ) -> None:
        with Peer(lambda exchange: exchange.respond(body, status, "text/html;charset=UTF-8")) as executor:
            assert (await calls.beat(executor.address, token="")).ok is ok

    async def test_little_is_read_of_who_says_how_it_is(self, calls: ExecutorCalls) -> None:
        body = b'{"code":200,"x":[' + b"[]," * STATE_REPLY_LIMIT + b"0]}"
        with Peer(lambda exchange: exchange.respond(body)) as executor:
            with pytest.raises(AnswerUnknown, match="larger than"):
                await calls.beat(executor.address, token="")
            with pytest.raises(AnswerUnknown, match="larger than"):
                await calls.idle_beat(executor.address, 1, token="")

    async def test_a_slow_executor_holds_up_nobody_else(self, calls: ExecutorCalls) -> None:
        with Peer(hanging) as slow, Peer(answering()) as quick:
            waiting = asyncio.create_task(calls.run(slow.address, TRIGGER, token=""))
            assert (await calls.run(quick.address, TRIGGER, token="")).ok
            assert not waiting.done()
            with pytest.raises(AnswerUnknown):
                await waiting


async def test_it_is_the_link_the_coordinator_is_given() -> None:
    calls = ExecutorCalls()
    link: ExecutorLink = calls
    await calls.open()
    with Peer(answering()) as executor:
        assert (await link.beat(executor.address, token="")).ok
    await calls.close()
    await calls.close()
    with pytest.raises(AssertionError, match="open"):
        await link.beat("http://127.0.0.1:1", token="")


MANY = [RunRequest(job_id=1, log_id=n, executor_handler="h") for n in range(1, 4)]
TAKES_BATCHES = frozenset({Extension.BATCH_RUN, Extension.RESEND})


class TestManyAtOnce:
    async def run_all(self, calls: ExecutorCalls, address: str) -> list[int | None]:
        answers = await calls.run_all(address, MANY, token="t", app_name="app", extensions=TAKES_BATCHES)
        return [None if answer is None else answer.code for answer in answers]

    async def test_each_is_answered_by_its_id(self, calls: ExecutorCalls) -> None:
        replies = [{"logId": 3, "code": 200}, {"logId": 1, "code": 500, "msg": "no"}]
        with Peer(answering({"replies": replies})) as executor:
            assert await self.run_all(calls, executor.address) == [500, None, 200]
        (request,) = executor.requests
        assert request.path == "/runs"
        assert request.headers["orth-access-token"] == "t"
        body = request.json()
        assert isinstance(body, dict)
        assert [one["logId"] for one in body["requests"]] == [1, 2, 3]

    @pytest.mark.parametrize("status", [400, 401, 404, 413, 503])
    async def test_what_is_turned_away_at_the_door_was_taken_by_nobody(self, calls: ExecutorCalls, status: int) -> None:
        with Peer(lambda exchange: exchange.respond(b'{"code": 500, "msg": "no"}', status)) as executor:
            assert await self.run_all(calls, executor.address) == [500, 500, 500]

    @pytest.mark.parametrize(("status", "body"), [(500, b'{"code": 500}'), (200, b'{"code": 500}'), (200, b"nonsense")])
    async def test_what_failed_inside_is_unknown(self, calls: ExecutorCalls, status: int, body: bytes) -> None:
        with Peer(lambda exchange: exchange.respond(body, status)) as executor:
            assert await self.run_all(calls, executor.address) == [None, None, None]

    async def test_an_executor_that_takes_only_single_ones_is_not_sent_a_batch(self, calls: ExecutorCalls) -> None:
        with Peer(answering()) as executor, pytest.raises(Invalid):
            await calls.run_all(executor.address, MANY, token="t", extensions=frozenset())
        assert executor.requests == []
