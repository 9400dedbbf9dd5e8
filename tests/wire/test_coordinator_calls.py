"""An executor's calls on real sockets, to coordinators that work, refuse, hang, drip and lie."""

import gzip
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing

import pytest
import urllib3

from orth.errors import Invalid, Unavailable
from orth.wire.beginnings import Begun, BegunReport, read_begun
from orth.wire.coordinator_calls import BATCH_LIMIT, CoordinatorCalls, CoordinatorLink, NotKnownThere
from orth.wire.dialects import read_callback, read_registry, reads_verdicts, verdicts_payload
from orth.wire.fields import BODY_LIMIT
from orth.wire.messages import Announcement, CallbackItem, CallbackVerdict, RegistryRequest, Reply, Verdict
from orth.wire.network_reasons import place_of
from tests.test_threads import no_more_threads
from tests.wire.peers import Behaviour, Exchange, Peer, answering, not_accepting, refusing

TIMEOUT = 0.5
ZIPPED = gzip.compress(b'{"code":200}')  # nobody asked for it: what is not unpacked cannot be a bomb
REGISTRATION = RegistryRequest(
    registry_key="demo", registry_value="http://10.0.0.7:9999", orth=Announcement(incarnation="i-1")
)
RESULTS = [CallbackItem(log_id=n, handle_code=200, handle_msg=f"result {n}") for n in (1, 2, 3)]


def judging(verdict: Verdict) -> Behaviour:
    """A coordinator of ours that gives every item the same verdict, to whoever reads it."""

    def judge(exchange: Exchange) -> None:
        items = [item for item in read_callback(exchange.request.body) if isinstance(item, CallbackItem)]
        told = [CallbackVerdict(log_id=item.log_id, verdict=verdict) for item in items]
        payload = verdicts_payload(told) if reads_verdicts(exchange.request.headers) else None
        exchange.respond(Reply.success(payload).to_bytes())

    return judge


def dripping_head(exchange: Exchange) -> None:
    exchange.drip(b"HTTP/1.1 200 OK\r\n" + b"X-Padding: y\r\n" * 1_000)


def dripping_body(exchange: Exchange) -> None:
    exchange.sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    exchange.drip(b" " * 100_000)


def resetting(exchange: Exchange) -> None:
    exchange.reset()


def hanging(exchange: Exchange) -> None:
    exchange.hang()


def endless(exchange: Exchange) -> None:
    exchange.sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not exchange.stopping.is_set():
        exchange.sock.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")


def truncated(exchange: Exchange) -> None:
    exchange.sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"code":200}')
    exchange.reset()


def not_http(exchange: Exchange) -> None:
    exchange.sock.sendall(b"\x00\x01\x02 hello\r\n\r\n")
    exchange.reset()


def test_it_is_the_link_the_executor_is_given() -> None:
    link: CoordinatorLink = CoordinatorCalls(["http://127.0.0.1:1"], "")
    assert link.call_back([]) == []


class TestOneCoordinator:
    def test_a_registration_arrives_whole(self) -> None:
        with Peer(answering()) as coordinator:
            CoordinatorCalls([coordinator.address + "/"], "secret", app_name="demo").register(REGISTRATION)
        (request,) = coordinator.requests
        assert request.path == "/api/registry"
        assert read_registry(request.body) == REGISTRATION
        assert request.headers["orth-access-token"] == request.headers["xxl-job-access-token"] == "secret"
        assert request.headers["xxl-job-appname"] == "demo"
        assert request.headers["content-type"] == "application/json;charset=UTF-8"
        assert request.headers["accept-encoding"] == "identity"

    def test_an_address_may_have_a_prefix(self) -> None:
        with Peer(answering()) as coordinator:
            CoordinatorCalls([coordinator.address + "/xxl-job-admin"], "").unregister(REGISTRATION)
        assert [request.path for request in coordinator.requests] == ["/xxl-job-admin/api/registryRemove"]

    def test_verdicts_come_back_item_by_item(self) -> None:
        with Peer(judging(Verdict.SUPERSEDED)) as coordinator:
            verdicts = CoordinatorCalls([coordinator.address], "").call_back(RESULTS)
        assert [(v.log_id, v.verdict) for v in verdicts] == [(n, Verdict.SUPERSEDED) for n in (1, 2, 3)]
        assert read_callback(coordinator.requests[0].body) == RESULTS

    def test_a_plain_yes_means_all_stored(self) -> None:
        with Peer(answering()) as admin:
            verdicts = CoordinatorCalls([admin.address], "").call_back(RESULTS)
        assert [v.verdict for v in verdicts] == [Verdict.STORED] * 3

    def test_json_called_html_is_json(self) -> None:
        with Peer(lambda exchange: exchange.respond(b'{"code":200}', content_type="text/html")) as coordinator:
            CoordinatorCalls([coordinator.address], "").register(REGISTRATION)
        assert len(coordinator.requests) == 1

    def test_a_connection_is_used_again(self) -> None:
        with Peer(answering()) as coordinator:
            calls = CoordinatorCalls([coordinator.address], "")
            for _ in range(3):
                calls.register(REGISTRATION)
            calls.close()
        assert len(coordinator.requests) == 3
        assert len(coordinator.connections) == 1

    def test_a_proxy_of_the_environment_is_not_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with refusing() as nowhere, Peer(answering()) as coordinator:
            monkeypatch.setenv("http_proxy", nowhere)
            monkeypatch.setenv("HTTP_PROXY", nowhere)
            CoordinatorCalls([coordinator.address], "").register(REGISTRATION)
        assert len(coordinator.requests) == 1

    def test_a_pool_may_be_brought_along(self) -> None:
        pool = urllib3.PoolManager(headers={"X-Ignored": "1"})
        with Peer(hanging) as coordinator, pytest.raises(Unavailable):
            CoordinatorCalls([coordinator.address], "", 0.1, pool).register(REGISTRATION)
        assert len(coordinator.requests) == 1

    @pytest.mark.parametrize("addresses", [[], ["host:1"], ["http://a@b"]])
    def test_addresses_are_checked_before_the_first_call(self, addresses: list[str]) -> None:
        with pytest.raises(Invalid):
            CoordinatorCalls(addresses, "")


class TestTrouble:
    @pytest.mark.parametrize(
        ("behaviour", "cause"),
        [
            (hanging, "did not answer in time"),
            (dripping_head, ""),
            (dripping_body, "did not answer in time"),
            (endless, ""),
            (resetting, ""),
            (truncated, ""),
            (not_http, ""),
            (lambda exchange: exchange.respond(b" " * (BODY_LIMIT + 1)), "larger than"),
            (lambda exchange: exchange.respond(b"", 302, Location="http://127.0.0.1:1/"), "HTTP 302"),
            (lambda exchange: exchange.respond(b"[]"), "not the expected answer"),
            (lambda exchange: exchange.respond(b"<html>", content_type="text/html"), "not the expected answer"),
            (lambda exchange: exchange.respond(ZIPPED, Content_Encoding="gzip"), "not the expected answer"),
            (lambda exchange: exchange.respond(b'{"code":500,"msg":"wrong token"}'), "wrong token (code 500)"),
            (lambda exchange: exchange.respond(b'{"code":401,"msg":"no token"}', 401), "no token (code 401)"),
        ],
        ids=[
            "hang",
            "drip head",
            "drip body",
            "endless",
            "reset",
            "truncated",
            "not HTTP",
            "huge",
            "redirect",
            "array",
            "HTML",
            "gzip",
            "refused",
            "401",
        ],
    )
    def test_trouble_is_named_and_bounded_and_the_next_is_tried(self, behaviour: Behaviour, cause: str) -> None:
        with Peer(behaviour) as bad, Peer(answering()) as good:
            started = time.monotonic()
            with pytest.raises(Unavailable) as failed:
                CoordinatorCalls([bad.address], "", TIMEOUT).register(REGISTRATION)
            assert time.monotonic() - started < 2 * TIMEOUT + 2
            assert place_of(bad.address) in str(failed.value)
            assert cause in str(failed.value)
            CoordinatorCalls([bad.address, good.address], "", TIMEOUT).register(REGISTRATION)
        assert len(good.requests) == 1

    def test_every_address_is_named_with_its_cause(self) -> None:
        with refusing() as closed, not_accepting() as full, Peer(answering(code=500, msg="draining")) as draining:
            calls = CoordinatorCalls([closed, full, draining.address], "", TIMEOUT)
            with pytest.raises(Unavailable) as failed:
                calls.register(REGISTRATION)
        text = str(failed.value)
        assert f"{place_of(closed)} refused the connection" in text
        assert "refused" in text
        assert place_of(full) in text
        assert "draining (code 500)" in text

    def test_the_last_that_worked_is_asked_first(self) -> None:
        turns = iter([answering(code=500, msg="starting"), answering()])
        with Peer(lambda exchange: next(turns)(exchange)) as first, Peer(answering()) as second:
            calls = CoordinatorCalls([first.address, second.address], "")
            for _ in range(3):
                calls.register(REGISTRATION)
            assert (len(first.requests), len(second.requests)) == (1, 3)
            second.__exit__()
            calls.register(REGISTRATION)
        assert len(first.requests) == 2

    def test_an_answer_cut_off_does_not_poison_the_next(self) -> None:
        turns = iter([dripping_body, answering(), answering()])
        with Peer(lambda exchange: next(turns)(exchange)) as coordinator:
            calls = CoordinatorCalls([coordinator.address], "", TIMEOUT)
            with pytest.raises(Unavailable):
                calls.register(REGISTRATION)
            calls.register(REGISTRATION)
            calls.register(REGISTRATION)
        assert len(coordinator.requests) == 3
        assert len(coordinator.connections) == 2

    def test_no_call_needs_a_thread(self) -> None:
        with Peer(answering()) as coordinator:
            calls = CoordinatorCalls([coordinator.address], "")
            calls.register(REGISTRATION)
            with no_more_threads():
                calls.register(REGISTRATION)
        assert len(coordinator.requests) == 2

    def test_continuations_without_end_are_cut_off(self) -> None:
        def continuing(exchange: Exchange) -> None:
            while not exchange.stopping.is_set():
                exchange.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")

        with Peer(continuing) as coordinator, pytest.raises(Unavailable, match="more header, chunk or reply lines"):
            CoordinatorCalls([coordinator.address], "", TIMEOUT).register(REGISTRATION)

    def test_threads_may_share_it(self) -> None:
        with refusing() as closed, Peer(judging(Verdict.STORED)) as coordinator:
            calls = CoordinatorCalls([closed, coordinator.address], "")
            told: list[CallbackVerdict] = []
            threads = [threading.Thread(target=lambda: told.extend(calls.call_back(RESULTS))) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(10)
        assert sorted(v.log_id for v in told) == sorted([1, 2, 3] * 8)


class TestLargeBatches:
    ITEMS = tuple(CallbackItem(log_id=n, handle_code=500, handle_msg="\U0001f600" * 50_000) for n in range(1, 61))

    def test_a_batch_that_does_not_fit_goes_in_several(self) -> None:
        with Peer(judging(Verdict.STORED)) as coordinator:
            verdicts = CoordinatorCalls([coordinator.address], "").call_back(self.ITEMS)
        assert [v.log_id for v in verdicts] == [item.log_id for item in self.ITEMS]
        assert {v.verdict for v in verdicts} == {Verdict.STORED}
        sizes = [len(request.body) for request in coordinator.requests]
        assert len(sizes) == 3
        assert max(sizes) <= BATCH_LIMIT
        assert [item for request in coordinator.requests for item in read_callback(request.body)] == list(self.ITEMS)

    def test_what_was_not_delivered_is_to_be_sent_again(self) -> None:
        turns = iter([judging(Verdict.STORED), resetting])
        with Peer(lambda exchange: next(turns)(exchange)) as coordinator:
            verdicts = CoordinatorCalls([coordinator.address], "", TIMEOUT).call_back(self.ITEMS)
        delivered = len(read_callback(coordinator.requests[0].body))
        assert 0 < delivered < len(self.ITEMS)
        assert [v.verdict for v in verdicts[:delivered]] == [Verdict.STORED] * delivered
        assert {v.verdict for v in verdicts[delivered:]} == {Verdict.RETRY}
        assert [v.log_id for v in verdicts] == [item.log_id for item in self.ITEMS]


def test_no_thread_is_left_behind() -> None:
    before = threading.active_count()
    with ExitStack() as peers:
        coordinator = peers.enter_context(Peer(answering()))
        calls = CoordinatorCalls([coordinator.address], "", timeout=30.0)
        for _ in range(20):
            calls.register(REGISTRATION)
        watches = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
        for watch in watches:
            watch.join(5)
        assert not [watch for watch in watches if watch.is_alive()]
    assert threading.active_count() <= before + 1


def test_an_executor_needs_no_aiohttp() -> None:
    modules = "orth.wire.messages, orth.wire.dialects, orth.wire.coordinator_calls"
    program = f"import sys; sys.modules['aiohttp'] = None; import {modules}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


# --- what runs ---

REPORT = BegunReport(incarnation="i-1", begun=(Begun(log_id=7, start_time=1), Begun(log_id=8, start_time=2)))


def test_what_runs_is_told_and_the_answer_says_what_to_tell_again() -> None:
    with Peer(answering({"again": [8]})) as peer, closing(CoordinatorCalls([peer.address], "t", TIMEOUT)) as calls:
        assert calls.tell_begun(REPORT) == {8}
    (asked,) = peer.requests
    assert (asked.path, read_begun(asked.body)) == ("/api/begun", REPORT)
    with Peer(answering(None)) as peer, closing(CoordinatorCalls([peer.address], "t", TIMEOUT)) as calls:
        assert calls.tell_begun(REPORT) == frozenset()


@pytest.mark.parametrize("status", [404, 405])
def test_a_coordinator_that_does_not_know_of_it_is_told_from_one_that_is_away(status: int) -> None:
    with Peer(lambda exchange: exchange.respond(b"not here", status=status)) as older, pytest.raises(NotKnownThere):
        CoordinatorCalls([older.address], "t", TIMEOUT).tell_begun(REPORT)
    with refusing() as address, pytest.raises(Unavailable) as away:
        CoordinatorCalls([address], "t", TIMEOUT).tell_begun(REPORT)
    assert not isinstance(away.value, NotKnownThere)
