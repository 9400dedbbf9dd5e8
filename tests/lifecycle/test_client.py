"""The Registry API's client against real sockets: what each kind of answer, and none, becomes."""

import time

import pytest

from orth.clock import SystemClock
from orth.domain.services import ServiceKind, ServiceStatus
from orth.lifecycle.client import Orchestrator, Registration, RegistryApi, RegistryTrouble
from orth.lifecycle.facts import Cause
from tests.lifecycle.registry import HANG, RESET, Answer, ScriptedRegistry
from tests.servers.processes import free_port
from tests.wire.peers import Peer

ME = Registration(ServiceKind.AGENT, "http://10.0.0.7:9999", "i-1", "demo", "abc")


def api(*addresses: str, timeout: float = 5.0, token: str = "token-of-this-test") -> RegistryApi:
    return RegistryApi(addresses, token, timeout=timeout, clock=SystemClock())


def cause_of(registry: RegistryApi) -> Cause:
    with pytest.raises(RegistryTrouble) as caught:
        registry.register(ME)
    assert str(caught.value)
    return caught.value.cause


def test_all_verbs_of_a_registry_that_works() -> None:
    with ScriptedRegistry() as registry:
        registry.add_orchestrator("abc", "http://10.0.0.1:5080")
        client = api(registry.url + "/")
        given = client.register(ME)
        client.beat(ServiceKind.AGENT, given)
        client.set_status(ServiceKind.AGENT, given, ServiceStatus.BUSY)
        assert registry.records[given]["status"] == "Busy"
        assert client.orchestrators() == [Orchestrator("abc", "http://10.0.0.1:5080", "Running")]
        client.unregister(ServiceKind.AGENT, given, timeout=2)
    assert [(one.method, one.path) for one in registry.asked] == [
        ("POST", "/api/agents/register"),
        ("POST", f"/api/agents/{given}/heartbeat"),
        ("POST", f"/api/agents/{given}/status"),
        ("GET", "/api/orchestrators"),
        ("POST", f"/api/agents/{given}/unregister"),
    ]
    assert registry.asked[0].body == {
        "url": "http://10.0.0.7:9999",
        "incarnation": "i-1",
        "name": "demo",
        "orchestratorId": "abc",
    }
    assert registry.asked[2].body == {"status": "Busy"}
    assert {one.headers["orth-access-token"] for one in registry.asked} == {"token-of-this-test"}


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (404, Cause.NOT_FOUND),
        (503, Cause.UNAVAILABLE),
        (429, Cause.UNAVAILABLE),
        (502, Cause.UNAVAILABLE),
        (400, Cause.REFUSED),
        (401, Cause.REFUSED),
        (500, Cause.REFUSED),
        (302, Cause.REFUSED),
        (b"", Cause.MALFORMED),
        (b"<html>", Cause.MALFORMED),
        (b"[]", Cause.MALFORMED),
        (b"{}", Cause.MALFORMED),
        (b'{"id": 7}', Cause.MALFORMED),
        (b'{"id": ""}', Cause.MALFORMED),
        (b'{"id": "../../other"}', Cause.MALFORMED),
        (b'{"id": "' + b"a" * 65 + b'"}', Cause.MALFORMED),
        (b"\xff\xfe", Cause.MALFORMED),
        (b"[" * 100_000, Cause.MALFORMED),
        (RESET, Cause.NETWORK),
        (HANG, Cause.TIMEOUT),
    ],
)
def test_each_way_to_fail_has_its_cause(answer: Answer, cause: Cause) -> None:
    with ScriptedRegistry(always={"register": answer}) as registry:
        assert cause_of(api(registry.url, timeout=0.3)) is cause


def test_nobody_there_and_no_such_name_are_the_network() -> None:
    assert cause_of(api(f"http://127.0.0.1:{free_port()}")) is Cause.NETWORK
    assert cause_of(api("http://no-such-host.invalid:5060")) is Cause.NETWORK


def test_an_answer_that_drips_is_given_up_in_time() -> None:
    with Peer(lambda exchange: exchange.drip(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000)) as peer:
        began = time.monotonic()
        assert cause_of(api(peer.address, timeout=0.4)) is Cause.TIMEOUT
        assert time.monotonic() - began < 20, "all of it takes five minutes"


def test_without_an_address_or_with_a_token_that_cannot_be_sent_nothing_is_called() -> None:
    assert cause_of(api()) is Cause.CONFIGURATION
    with ScriptedRegistry() as registry:
        assert cause_of(api(registry.url, token="two\nlines")) is Cause.CONFIGURATION
        assert registry.asked == []


@pytest.mark.parametrize("address", ["http://a b:5060", "http://..:1", f"http://{'a' * 70}.x:1", "http://[::1"])
def test_an_address_that_cannot_be_called_is_a_failure_like_any_other(address: str) -> None:
    assert cause_of(api(address)) is Cause.NETWORK


def test_a_password_in_the_address_is_not_shown() -> None:
    with pytest.raises(RegistryTrouble) as caught:
        api(f"http://me:hunter2@127.0.0.1:{free_port()}").register(ME)
    assert "hunter2" not in str(caught.value)


def test_the_reason_says_where_and_what_the_registry_said() -> None:
    away = (503, b'{"detail": "The database is away."}')
    said = r"/api/agents/register answered 503: The database is away\."
    with ScriptedRegistry(always={"register": away}) as registry, pytest.raises(RegistryTrouble, match=said):
        api(registry.url).register(ME)


def test_a_token_that_is_not_known_is_refused_and_never_shown() -> None:
    with ScriptedRegistry() as registry, pytest.raises(RegistryTrouble) as caught:
        api(registry.url, token="secret-of-another").register(ME)
    assert caught.value.cause is Cause.REFUSED
    assert "secret-of-another" not in str(caught.value)


def test_equal_addresses_are_tried_in_turn_and_the_one_that_answered_comes_first() -> None:
    away = f"http://127.0.0.1:{free_port()}"
    with ScriptedRegistry(always={"register": 503}) as busy, ScriptedRegistry() as good:
        client = api(away, busy.url, good.url)
        assert client.register(ME)
        assert client.register(ME)
        assert busy.verbs() == ["register"]
        assert good.verbs() == ["register", "register"]


def test_an_answer_that_says_no_is_not_asked_for_elsewhere() -> None:
    with ScriptedRegistry(always={"heartbeat": 404}) as first, ScriptedRegistry() as second:
        with pytest.raises(RegistryTrouble):
            api(first.url, second.url).beat(ServiceKind.AGENT, "abc")
        assert second.asked == []


def test_entries_of_the_list_without_the_form_of_one_are_left_out() -> None:
    listed = b'[{"id":"a","url":"http://x:1","status":"Running"},{"id":1},"b",null,{"id":"c","url":"u"}]'
    with ScriptedRegistry(always={"list": listed}) as registry:
        assert api(registry.url).orchestrators() == [Orchestrator("a", "http://x:1", "Running")]
    with ScriptedRegistry(always={"list": b'{"items": []}'}) as registry:
        with pytest.raises(RegistryTrouble) as caught:
            api(registry.url).orchestrators()
        assert caught.value.cause is Cause.MALFORMED
