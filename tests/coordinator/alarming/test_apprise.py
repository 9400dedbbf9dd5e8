"""Messages by way of the real apprise library, to a real receiver."""

import threading
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from orth.coordinator.alarming.apprise_urls import check_urls, send_by_apprise
from orth.coordinator.alarming.outbound import NotDelivered
from orth.coordinator.alarming.texts import trial_alarm
from orth.errors import Invalid
from tests.receivers import HANG, WebhookReceiver
from tests.security.endless_servers import ANSWERS, EndlessServer

ALARM = trial_alarm("nightly", 1_769_767_200_000)


def receiver_url(receiver: WebhookReceiver) -> str:
    return f"json://{urlsplit(receiver.url).netloc}/alarms"


async def test_a_message_arrives_at_every_receiver() -> None:
    with WebhookReceiver(200) as one, WebhookReceiver(200) as other:
        urls = [receiver_url(one), receiver_url(other)]
        check_urls(urls, allowed=True)
        assert await send_by_apprise(urls, ALARM, 10) == "delivered to 2"
        for receiver in (one, other):
            (posted,) = receiver.posted
            assert posted.path.rstrip("/") == "/alarms"
            assert (posted.json["title"], posted.json["message"]) == (ALARM.title, ALARM.text)


async def test_one_receiver_that_refuses_is_told() -> None:
    with WebhookReceiver(200) as good, WebhookReceiver(500) as bad:
        with pytest.raises(NotDelivered, match="could not deliver it to every receiver"):
            await send_by_apprise([receiver_url(good), receiver_url(bad)], ALARM, 10)
        assert len(good.posted) == 1


async def test_one_that_does_not_answer_is_not_waited_for() -> None:
    with WebhookReceiver(HANG) as receiver, pytest.raises(NotDelivered, match="No answer within 1 s"):
        await send_by_apprise([receiver_url(receiver)], ALARM, 1)


@pytest.mark.parametrize("answer", ["hints", "one chunk extension", "trailers"])
async def test_a_receiver_that_answers_without_end_costs_a_process_its_time(answer: str) -> None:
    with EndlessServer(ANSWERS[answer]).listening() as server:
        began, used = time.monotonic(), time.thread_time()
        with suppress(NotDelivered):
            await send_by_apprise([f"json://127.0.0.1:{server.port}/"], ALARM, 4)
        assert time.monotonic() - began < 20
        assert time.thread_time() - used < 1
    assert [one for one in active_children() if "apprise" in one] == []


def active_children() -> list[str]:
    """The commands of the processes that this one has started and that have not ended."""
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
    return [Path(f"/proc/{child}/cmdline").read_text() for child in children]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "exec://rm", "syslog://", "nonsense://x", "not a url"])
def test_what_acts_on_this_machine_or_is_unknown_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="does not know, or may not use"):
        check_urls([url], allowed=True)
