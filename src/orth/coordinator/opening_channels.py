"""The channels of this process, opened as the settings say and closed at the end.

With none set, a coordinator that has a SQLite file for itself keeps its messages to itself, and shares them through the
file as soon as another coordinator is there: one that lives when it starts, or that joins later.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from orth.channels.interface import Channels, ChannelsUnavailable
from orth.channels.limits import Limits
from orth.channels.local_first import LocalFirst
from orth.channels.opening import open_channels, open_local_first
from orth.clock import Clock
from orth.cluster.alone import AliveLocks
from orth.cluster.facts import NodeJoined
from orth.events import Event, Events
from orth.settings import Settings
from orth.store.database import Database

log = logging.getLogger("orth.coordinator")


@asynccontextmanager
async def opened_channels(
    settings: Settings, db: Database, clock: Clock, events: Events, locks: AliveLocks | None
) -> AsyncIterator[Channels]:
    """``locks`` are there if this process coordinates on a SQLite file."""
    own = settings.channels
    limits = Limits(queue=own.queue_limit, box=own.box_limit, message=own.message_limit)
    channels: Channels
    if own.url is None and locks is not None:
        channels = local = open_local_first(db, clock, events, limits)
        share_with_others(local, locks, events)
    else:
        channels = open_channels(settings.channels_url, db, clock, events, prefix=own.prefix, limits=limits)
    try:
        await _look_at(channels)
        yield channels
    finally:
        await channels.close()


def share_with_others(channels: LocalFirst, locks: AliveLocks, events: Events) -> None:
    """Share them when there is another coordinator, now or later."""

    def hear(fact: Event) -> None:
        if isinstance(fact, NodeJoined) and not channels.is_shared and locks.others_live():
            channels.share()
            log.info("coordinators share the database: from now on they hear each other through it")

    events.listen(hear)
    if locks.others_live():
        channels.share()


async def _look_at(channels: Channels) -> None:
    """Say at the start what is wrong with the channels. It keeps nobody from working: that goes by the database."""
    try:
        complaint = await channels.complaint()
    except ChannelsUnavailable as error:
        complaint = str(error)
    if complaint is not None:
        log.warning("the channels may not work: %s", complaint)
