"""Channels that fail for a moment: executions wait, and go on by themselves when the channels answer again."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from orth.channels.interface import ChannelsUnavailable, Message
from orth.coordinator.facts import QueuesAway, QueuesBack
from orth.domain.executions import Status
from orth.events import Event
from tests.coordinator.queue_site import QueueSite, Worker, eventually


async def test_a_failed_send_stops_nobody_for_longer_than_the_channels_are_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only message there was is not sent again, so nothing is left here to find out with that they are back."""
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path) as site, Worker(site.channels) as worker:
        job = await site.job()

        async def send(_queue: str, _messages: Sequence[Message]) -> None:
            raise ChannelsUnavailable("away")

        with monkeypatch.context() as broken:
            broken.setattr(site.channels, "send", send)
            first = await site.trigger(job)
            await eventually(_told(site, QueuesAway), bool)
        await eventually(_told(site, QueuesBack), bool)
        second = await site.trigger(job)
        for _ in range(2):  # the second at once, the first when it is found missing
            (dispatch,) = await worker.take(20.0)
            await worker.accept(dispatch)
            await worker.finish(dispatch)
        for one in (first, second):
            assert (await site.until(one, lambda it: it.status.terminal)).status is Status.SUCCESS


def _told(site: QueueSite, fact: type[Event]) -> Callable[[], Awaitable[int]]:
    async def look() -> int:
        return len(site.recorder.all(fact))

    return look
