"""How an executor reaches the channels: Redis itself when that is where they are, else through its coordinators.

An executor has no way to the database, whatever the channels are made of.
"""

from orth.channels.interface import ExecutorChannels
from orth.channels.names import Names
from orth.channels.remote import RemoteChannels
from orth.clock import Clock
from orth.distribution import install_command
from orth.errors import CannotStart
from orth.events import Events
from orth.executor.queue_reports import Worker
from orth.executor.queue_transport import QueueTransport
from orth.executor.settings import ExecutorSettings
from orth.wire.channel_calls import ChannelCalls
from orth.wire.coordinator_calls import CoordinatorCalls


def queue_transport(
    own: ExecutorSettings, calls: CoordinatorCalls, worker: Worker, process: str, clock: Clock, events: Events
) -> QueueTransport:
    """The transport of an executor whose settings ask for queues; nothing is connected yet."""
    by_http = ChannelCalls(calls, process)
    direct = own.channels_url.startswith(("redis:", "rediss:"))
    return QueueTransport(
        _redis(own, clock) if direct else RemoteChannels(by_http),
        Names(own.channels_prefix),
        calls,
        by_http if direct else None,
        worker,
        app_name=own.app_name,
        queues=own.queues,
        places=own.queue_concurrency,
        log_limit=own.queue_log_limit,
        limits=own.channels_limits,
        token=own.access_token,
        clock=clock,
        events=events,
    )


def _redis(own: ExecutorSettings, clock: Clock) -> ExecutorChannels:
    try:
        from orth.channels.redis import RedisChannels
    except ImportError:
        raise CannotStart(
            "channels.url names Redis, and its client is not installed here.",
            hint=f"Run: {install_command('redis')}. Without channels.url, work comes through the coordinators.",
        ) from None
    try:
        return RedisChannels(own.channels_url, clock, prefix=own.channels_prefix, limits=own.channels_limits)
    except ValueError as error:  # the address, which may hold a password
        raise CannotStart("channels.url is not an address of Redis.", hint="Write redis://host:6379/0.") from error
