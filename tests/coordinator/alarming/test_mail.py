"""Mail to a real server: encrypted or not at all, signed in, in time, and with headers nobody can add to."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import pytest

from orth.coordinator.alarming.mail import MailSender, MailServer
from orth.coordinator.alarming.outbound import NotDelivered, channels_outbound
from orth.coordinator.alarming.texts import Alarm, trial_alarm
from orth.domain.alarms import AlarmKind
from tests.receivers import MailReceiver, self_signed
from tests.servers.processes import wait_until

NOW = 1_769_767_200_000
TO = ("ops@example.test", "boss@example.test")
ALARM = replace(trial_alarm("nightly", NOW), kind=AlarmKind.FIRST, failures=2, message_id="orth-alarm-7-1")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("certificate"))


def sender(timeout: float = 5.0, ca_file: Path | None = None, allow_local: bool = True) -> MailSender:
    return MailSender(
        lambda: NOW, timeout=timeout, outbound=channels_outbound(allow_local=allow_local), ca_file=ca_file
    )


def server_at(receiver: MailReceiver, **more: str) -> MailServer:
    return MailServer("127.0.0.1", receiver.port, **{"security": "none", "sender": "orth@example.test", **more})


async def test_a_mail_arrives() -> None:
    with MailReceiver() as receiver:
        answer = await sender().send(server_at(receiver), TO, ALARM)
        assert answer == "250 2.0.0 queued as 42"
        (mail,) = receiver.mails
        assert receiver.recipients == [list(TO)]
        assert mail["Subject"] == "[Orth] nightly failed 2 times"
        assert mail["To"] == "ops@example.test, boss@example.test"
        assert mail["Message-ID"] == "<orth-alarm-7-1@example.test>"
        assert mail["X-Orth-Message-Id"] == "orth-alarm-7-1"
        assert "Failures: 2" in mail.get_content()


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_it_is_encrypted_and_signed_in(security: str, certificate: Path) -> None:
    with MailReceiver(certificate, security, ("orth", "pass")) as receiver:
        server = server_at(receiver, security=security, username="orth", password="pass")
        await sender(ca_file=certificate).send(server, TO, ALARM)
        assert receiver.encrypted == [True]


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_a_certificate_nobody_vouches_for_is_refused(security: str, certificate: Path) -> None:
    with MailReceiver(certificate, security, ("orth", "pass")) as receiver:
        server = server_at(receiver, security=security, username="orth", password="pass")
        with pytest.raises(NotDelivered, match="certificate"):
            await sender().send(server, TO, ALARM)
        assert receiver.mails == []
        assert not any("AUTH" in line for line in receiver.lines)


async def test_nothing_is_said_in_the_clear_where_encryption_was_asked_for() -> None:
    with MailReceiver(security="none", sign_in=("orth", "pass")) as receiver:
        server = server_at(receiver, security="starttls", username="orth", password="pass")
        with pytest.raises(NotDelivered, match="STARTTLS"):
            await sender().send(server, TO, ALARM)
        assert not any(line.startswith(("AUTH", "MAIL")) for line in receiver.lines)


async def test_a_wrong_password_is_told(certificate: Path) -> None:
    with MailReceiver(certificate, "tls", ("orth", "pass")) as receiver:
        server = server_at(receiver, security="tls", username="orth", password="guess")
        with pytest.raises(NotDelivered, match=r"535 5\.7\.8 wrong"):
            await sender(ca_file=certificate).send(server, TO, ALARM)


@pytest.mark.parametrize(
    ("verb", "answer"),
    [
        ("CONNECT", "554 not today"),
        ("MAIL", "451 later"),
        ("RCPT", "550 unknown"),
        ("DATA", "552 too much"),
    ],
)
async def test_a_refusal_is_told_in_the_servers_words(verb: str, answer: str) -> None:
    with MailReceiver(refuses={verb: answer}) as receiver:
        with pytest.raises(NotDelivered, match=answer):
            await sender().send(server_at(receiver), TO, ALARM)
        assert receiver.mails == []


@pytest.mark.parametrize("verb", ["CONNECT", "EHLO", "MAIL", "DATA"])
async def test_a_server_that_hangs_is_left_in_time(verb: str) -> None:
    with MailReceiver(hangs=frozenset({verb})) as receiver:
        began = time.monotonic()
        with pytest.raises(NotDelivered, match="no answer"):
            await sender(timeout=0.3).send(server_at(receiver), TO, ALARM)
        assert time.monotonic() - began < 5


async def test_a_server_that_trickles_keeps_no_thread() -> None:
    out = sender(timeout=1.0)
    with MailReceiver(trickles=True) as receiver, MailReceiver() as healthy:
        tried = await asyncio.gather(
            *(out.send(server_at(receiver), TO, ALARM) for _ in range(8)), return_exceptions=True
        )
        assert all(isinstance(one, NotDelivered) for one in tried)
        await out.send(server_at(healthy), TO, ALARM)


async def test_nobody_listens(free_port: int) -> None:
    with pytest.raises(NotDelivered, match="refused"):
        await sender().send(MailServer("127.0.0.1", free_port, "none"), TO, ALARM)


@pytest.mark.parametrize("host", ["..", "a" * 64 + ".example"])
async def test_a_host_that_is_no_name(host: str) -> None:
    """The one of the settings may be anything."""
    with pytest.raises(NotDelivered):
        await sender().send(MailServer(host, 25, "none", sender="orth@mail.example"), TO, ALARM)


async def test_nobody_to_write_to() -> None:
    with pytest.raises(NotDelivered, match="nobody"):
        await sender().send(MailServer("127.0.0.1", 1, "none"), (), ALARM)


async def test_a_channel_does_not_lead_to_this_machine_unless_the_settings_say_so() -> None:
    with MailReceiver() as receiver:
        with pytest.raises(NotDelivered, match=r"alarms\.allow_local"):
            await sender(allow_local=False).send(server_at(receiver), TO, ALARM)
        assert receiver.lines == []
        own = replace(server_at(receiver), local=True)
        await sender(allow_local=False).send(own, TO, ALARM)
        assert len(receiver.mails) == 1


@pytest.mark.parametrize(
    "name",
    [
        "x\r\nBcc: evil@example.test",
        "x\nSubject: other",
        "x\r\n\r\nbody",
        "\x00\x85\u2028",
        "雨 \ud800",
        "=?utf-8?q?x=0ABcc:_e@x?=",
        "y" * 5_000,
    ],
)
async def test_no_name_of_a_job_adds_a_header(name: str) -> None:
    alarm: Alarm = replace(ALARM, job=name, reason=f"{name}\r\n.\r\nMAIL FROM:<x@y>")
    with MailReceiver() as receiver:
        await sender().send(server_at(receiver), TO, alarm)
        (mail,) = receiver.mails
        assert receiver.recipients == [list(TO)]
        assert "Bcc" not in mail
        assert len(mail.get_all("Subject", [])) == 1
        assert set(mail.keys()) <= {
            "Subject",
            "From",
            "To",
            "Date",
            "Message-ID",
            "Auto-Submitted",
            "X-Orth-Message-Id",
            "Content-Type",
            "Content-Transfer-Encoding",
            "MIME-Version",
        }
        assert len([line for line in receiver.lines if line.upper().startswith("MAIL")]) == 1


async def test_many_at_once() -> None:
    with MailReceiver() as receiver:
        out = sender()
        await asyncio.gather(*(out.send(server_at(receiver), TO, ALARM) for _ in range(20)))
        wait_until(lambda: len(receiver.mails) == 20, "twenty mails")
