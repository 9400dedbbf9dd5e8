"""Webhooks to a real receiver: one that answers, refuses, hangs, redirects; and where they may not go."""

import time
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

import pytest

from orth.coordinator.alarming.definitions import checked
from orth.coordinator.alarming.outbound import NotDelivered, channels_outbound
from orth.coordinator.alarming.texts import trial_alarm
from orth.coordinator.alarming.webhook import WebhookSender
from orth.domain.alarms import AlarmKind
from orth.wire.guarded import GuardedResolver
from orth.wire.outbound import AddressRefused
from tests.receivers import HANG, WebhookReceiver
from tests.wire.fake_names import faked

NOW = 1_769_767_200_000
ALARM = replace(trial_alarm("nightly", NOW), kind=AlarmKind.FIRST, failures=2, message_id="orth-alarm-7-1")


def sender(timeout: float = 5.0, allow_local: bool = True) -> WebhookSender:
    return WebhookSender(
        lambda: NOW, timeout=timeout, outbound=channels_outbound(allow_local=allow_local), ca_file=None
    )


def hook(url: str, **more: Any) -> dict[str, Any]:
    return checked("webhook", {"url": url, **more})


async def test_a_message_that_grew_too_large_is_not_sent() -> None:
    grown = replace(ALARM, reason="\U0001f600" * 5_000)
    with WebhookReceiver(200) as receiver:
        with pytest.raises(NotDelivered, match="2,000,009 bytes"):
            await sender().send(hook(receiver.url, template={"a": "{{reason}}" * 100}), grown)
        assert receiver.posted == []


async def test_a_message_arrives_with_its_id() -> None:
    with WebhookReceiver(200, body=b"thanks") as receiver:
        answer = await sender().send(hook(receiver.url, headers={"X-Key": "k"}), ALARM)
        assert answer == "HTTP 200: thanks"
        (posted,) = receiver.posted
        assert posted.path == "/hook/very-secret-path"
        assert posted.headers["Orth-Message-Id"] == posted.json["message_id"] == "orth-alarm-7-1"
        assert posted.headers["X-Key"] == "k"
        assert posted.json["title"] == "nightly failed 2 times"


async def test_a_template_of_ones_own() -> None:
    with WebhookReceiver() as receiver:
        template = {"summary": "{{title}}", "count": "{{failures}}"}
        await sender().send(hook(receiver.url, template=template), ALARM)
        assert receiver.posted[0].json == {"summary": "nightly failed 2 times", "count": 2}


async def test_signed_presets() -> None:
    with WebhookReceiver(body=b'{"errcode":0,"errmsg":"ok"}') as receiver:
        await sender().send(hook(f"{receiver.url}?access_token=t", preset="dingtalk", secret="S"), ALARM)
        assert receiver.posted[0].path.startswith(f"/hook/very-secret-path?access_token=t&timestamp={NOW}&sign=")
    with WebhookReceiver(body=b'{"code":0}') as receiver:
        await sender().send(hook(receiver.url, preset="feishu", secret="S"), ALARM)
        assert receiver.posted[0].json["timestamp"] == str(NOW // 1000)
        assert receiver.posted[0].json["sign"]


@pytest.mark.parametrize(
    ("preset", "body"),
    [
        ("dingtalk", b'{"errcode":310000,"errmsg":"sign not match"}'),
        ("wecom", b'{"errcode":93000,"errmsg":"invalid webhook"}'),
        ("feishu", b'{"code":19024,"msg":"Key Words Not Found"}'),
    ],
)
async def test_a_refusal_inside_an_http_200(preset: str, body: bytes) -> None:
    with WebhookReceiver(200, body=body) as receiver, pytest.raises(NotDelivered, match=body.decode()[1:10]):
        await sender().send(hook(receiver.url, preset=preset), ALARM)


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
async def test_a_refusal_is_told_without_the_url(status: int) -> None:
    with WebhookReceiver(status, body=b"because") as receiver:
        with pytest.raises(NotDelivered, match=f"HTTP {status}: because") as refusal:
            await sender().send(hook(receiver.url), ALARM)
        assert "very-secret-path" not in str(refusal.value)


async def test_a_redirect_is_not_followed() -> None:
    with WebhookReceiver() as other, WebhookReceiver(307, headers={"Location": other.url}) as receiver:
        with pytest.raises(NotDelivered, match="307"):
            await sender().send(hook(receiver.url), ALARM)
        assert other.posted == []


async def test_a_receiver_that_hangs_is_left_in_time() -> None:
    with WebhookReceiver(HANG) as receiver:
        began = time.monotonic()
        with pytest.raises(NotDelivered, match=r"No answer within 0\.3 s"):
            await sender(timeout=0.3).send(hook(receiver.url), ALARM)
        assert time.monotonic() - began < 5


async def test_nobody_listens(free_port: int) -> None:
    with pytest.raises(NotDelivered, match="No connection") as refusal:
        await sender().send(hook(f"http://127.0.0.1:{free_port}/secret"), ALARM)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "2130706433", "0.0.0.0", "[::ffff:127.0.0.1]"]
)
async def test_no_spelling_of_this_machine_gets_through(host: str) -> None:
    with WebhookReceiver() as receiver:
        with pytest.raises(NotDelivered) as refusal:
            await sender(allow_local=False).send(hook(f"http://{host}:{receiver.port}/"), ALARM)
        assert receiver.posted == []
        assert "very" not in str(refusal.value)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.1.2.3",
        "::1",
        "0.0.0.0",
        "::",
        "169.254.169.254",
        "fe80::1%eth0",
        "::ffff:169.254.169.254",
        "2002:a9fe:a9fe::",
        "fd00:ec2::254",
        "100.100.100.200",
        "224.0.0.1",
    ],
)
def test_addresses_that_channels_may_not_lead_to(address: str) -> None:
    with pytest.raises(AddressRefused):
        channels_outbound(allow_local=False).check(address)


@pytest.mark.parametrize("address", ["10.0.0.7", "192.168.1.1", "8.8.8.8", "2001:4860:4860::8888", "fd12::1"])
def test_addresses_of_receivers(address: str) -> None:
    channels_outbound(allow_local=False).check(address)


def test_only_networks_that_are_allowed_where_some_are() -> None:
    outbound = channels_outbound(allow_local=False, allow=[ip_network("10.0.0.0/8")])
    outbound.check("10.0.0.7")
    with pytest.raises(AddressRefused, match=r"8\.8\.8\.8 is not in alarms\.outbound_allow"):
        outbound.check("8.8.8.8")


async def test_one_bad_address_of_a_name_is_enough() -> None:
    with faked({"rebinding.example": ["8.8.8.8", "169.254.169.254"]}) as (_names, resolver):
        guarded = GuardedResolver(replace(channels_outbound(allow_local=False), resolver=resolver))
        with pytest.raises(AddressRefused):
            await guarded.resolve("rebinding.example", 80)
