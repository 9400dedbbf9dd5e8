"""Where may be connected to: every dress of every address that may not (A08, A40), names (A41) and the settings."""

import socket
from ipaddress import ip_network

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.clock import SystemClock
from orth.wire.addresses import checked_address
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.executor_link import NotSent
from orth.wire.guarded import GuardedResolver, guarded_connector
from orth.wire.outbound import AddressRefused, Outbound, Resolved, connect_first, plain_ip
from orth.wire.watch_lines import LineSecurity, WatchLines
from tests.receivers import WebhookReceiver
from tests.servers.processes import free_port
from tests.wire.fake_names import address_of, faked

NEVER = [
    "0.0.0.0",
    "0.1.2.3",
    "169.254.169.254",
    "169.254.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "224.0.0.1",
    "255.255.255.255",
    "240.0.0.1",
    "::",
    "fe80::1",
    "fe80::1%eth0",
    "ff02::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "::ffff:169.254.169.254",
    "::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "2001:0:4136:e378:8000:63bf:5601:5601",
    "[::ffff:0.0.0.0]",
    "::ffff:0:a9fe:a9fe",
    "::ffff:0:169.254.169.254",
    "64:ff9b:1::a9fe:a9fe",
    "64:ff9b:1:7:8:9:a9fe:a9fe",
    "64:ff9b:1:a9fe:a9:fe00::",
    "64:ff9b:1:a9:fe:a9fe::",
    "64:ff9b:1:0:a9:fea9:fe00:0",
    "2001:db8::5efe:a9fe:a9fe",
    "2001:db8::200:5efe:169.254.169.254",
    "fd12::200:5efe:6464:64c8",
]


@pytest.mark.parametrize("text", NEVER)
def test_what_nothing_ever_connects_to(text: str) -> None:
    """A40: link-local, metadata, multicast and unspecified addresses, in whatever dress."""
    everything = (ip_network("0.0.0.0/0"), ip_network("::/0"))
    assert Outbound(allow=everything).refusal(text) is not None


MAY = ["10.0.0.7", "192.168.1.1", "8.8.8.8", "127.0.0.1", "::1", "fd12::1", "2606:4700::1", "::ffff:0:10.0.0.7"]
MAY += ["64:ff9b:1::10.0.0.7", "64:ff9b:1:a00:0:700::", "64:ff9b:1:0:a:0:700:0", "2001:db8::5efe:10.0.0.7"]


@pytest.mark.parametrize("text", MAY)
def test_what_may_be_connected_to(text: str) -> None:
    assert Outbound().refusal(text) is None


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_judged_alike_in_every_dress(ip: object) -> None:
    number = int(ip)  # type: ignore[call-overload]  # an address of IPv4
    plain = Outbound(loopback=False).refusal(str(ip)) is None
    hex_pair = f"{number >> 16:x}:{number & 0xFFFF:x}"
    dresses = [f"::ffff:{ip}", f"::ffff:0:{ip}", f"64:ff9b::{hex_pair}", f"2002:{hex_pair}::"]
    if number > 1:
        dresses.append(f"::{hex_pair}")
    assert {Outbound(loopback=False).refusal(one) is None for one in dresses} == {plain}
    assert {plain_ip(one) for one in dresses} == {ip}


def test_what_may_be_meant_is_judged_by_the_settings_too() -> None:
    ours = ip_network("64:ff9b:1::/48")
    picky = Outbound(allow=(ours,), deny=(ip_network("10.9.0.0/16"),), loopback=False)
    assert picky.refusal("64:ff9b:1::10.0.0.7") is None
    assert "outbound_deny" in str(picky.refusal("64:ff9b:1::10.9.0.7"))
    assert "this machine" in str(picky.refusal("64:ff9b:1::127.0.0.1"))
    assert "outbound_allow" in str(picky.refusal("2001:db8::5efe:10.0.0.7"))


def test_the_settings_decide_about_the_rest() -> None:
    ten, one = ip_network("10.0.0.0/8"), ip_network("10.9.0.0/16")
    picky = Outbound(allow=(ten,), deny=(one,), loopback=False)
    assert picky.refusal("10.1.2.3") is None
    assert "outbound_deny" in str(picky.refusal("10.9.1.1"))
    assert "outbound_allow" in str(picky.refusal("192.168.0.1"))
    assert "this machine" in str(picky.refusal("127.0.0.1"))
    assert "this machine" in str(picky.refusal("::ffff:127.8.9.1"))


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "gopher://10.0.0.1:70",
        "http://user:pw@10.0.0.1",
        "http://10.0.0.1@evil.example",
        "http://10.0.0.1:80\r\nX: y",
        "http://10.0.0.1/\n",
        "http://" + "a" * 70_000,
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://[fe80::1%25eth0]/",
    ],
)
def test_what_is_no_address_of_an_executor(address: str) -> None:
    """A08, A40: other schemes, credentials, line breaks, length, and numbers in disguise."""
    with pytest.raises(Exception, match="address"):
        checked_address(address)


async def test_a_name_is_resolved_once_and_its_checked_address_used() -> None:
    """A41: what is connected to is what was judged; the second, evil answer is never even asked for."""
    name = "executor.example"
    with WebhookReceiver() as receiver, faked({name: ["127.0.0.1"]}) as (names, resolver):
        connector = guarded_connector(Outbound(resolver=resolver), force_close=True)
        async with aiohttp.ClientSession(connector=connector) as session:
            for _ in range(2):
                async with session.post(f"http://{name}:{receiver.port}/", data=b"{}") as answer:
                    assert answer.status == 200
                names.answers[name] = ["169.254.169.254"]
        assert len(receiver.posted) == 2
        assert names.asked == [name]


async def test_every_answer_is_judged_when_it_is_used() -> None:
    """A41: an answer that one rule permits is kept for all, and another rule refuses it."""
    with faked({"executor.example": ["10.0.0.7"]}) as (names, resolver):
        assert len(await Outbound(resolver=resolver).resolve("executor.example", 80)) == 1
        with pytest.raises(AddressRefused, match="outbound_deny"):
            await Outbound(deny=(ip_network("10.0.0.0/8"),), resolver=resolver).resolve("executor.example", 80)
        assert names.asked == ["executor.example"]


@pytest.mark.parametrize("answers", [["169.254.169.254"], ["127.0.0.1", "169.254.169.254"], ["::ffff:169.254.1.1"]])
async def test_one_bad_address_of_a_name_is_enough(answers: list[str]) -> None:
    """A40."""
    with faked({"rebinding.example": answers}) as (_names, resolver), pytest.raises(AddressRefused):
        await GuardedResolver(Outbound(resolver=resolver)).resolve("rebinding.example", 80)


@pytest.mark.parametrize(("network", "ip"), [("127.0.0.0/8", "127.0.0.1"), ("::1/128", "::1")])
async def test_of_the_addresses_of_localhost_those_of_the_permitted_network_are_used(
    network: str, ip: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = (address_of("127.0.0.1"), address_of("::1"))
    monkeypatch.setattr("orth.wire.resolver.localhost_addresses", lambda: both)
    found = await Outbound(allow=(ip_network(network),)).resolve("localhost", 80)
    assert [one.ip for one in found] == [ip]
    with pytest.raises(AddressRefused, match="outbound_allow"):
        await Outbound(allow=(ip_network("10.0.0.0/8"),)).resolve("localhost", 80)


def test_the_first_address_that_answers_is_connected_to() -> None:
    closed = Resolved(socket.AF_INET, "127.0.0.1", free_port())
    with socket.create_server(("127.0.0.1", 0)) as listening:
        good = Resolved(socket.AF_INET, *listening.getsockname())
        with connect_first([closed, good], 10.0) as line:
            assert line.getpeername() == listening.getsockname()
    with pytest.raises(ConnectionRefusedError):
        connect_first([closed], 10.0)


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "[fd00:ec2::254]"])
async def test_an_executor_is_never_called_there(host: str) -> None:
    """A40: a literal address is resolved by nobody, and refused all the same; surely nothing was sent."""
    async with ExecutorCalls(timeout=1) as calls:
        with pytest.raises(NotSent, match="may not be connected to"):
            await calls.beat(f"http://{host}:80", token="secret")


async def test_loopback_can_be_switched_off() -> None:
    with WebhookReceiver() as receiver:
        async with ExecutorCalls(timeout=1, outbound=Outbound(loopback=False)) as calls:
            for host in ("127.0.0.1", "localhost"):
                with pytest.raises(NotSent, match="this machine"):
                    await calls.beat(f"http://{host}:{receiver.port}", token="secret")
        assert receiver.posted == []


async def test_lines_that_watch_executors_are_guarded_too() -> None:
    lines = WatchLines(
        token="secret",
        clock=SystemClock(),
        timeout=1,
        silence=5,
        ended=lambda _address, _silent: None,
        security=LineSecurity(Outbound(loopback=False)),
    )
    listening = socket.create_server(("127.0.0.1", 0))
    with listening:
        with pytest.raises(NotSent, match="this machine"):
            await lines.ask(f"http://localhost:{listening.getsockname()[1]}")
        with pytest.raises(NotSent, match="link-local"):
            await lines.ask("http://169.254.169.254")
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()
