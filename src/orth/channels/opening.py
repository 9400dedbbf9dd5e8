"""From ``channels.url`` to open channels. Executors do not come here: they have no database."""

from orth.channels.database import DatabaseChannels
from orth.channels.interface import Channels
from orth.channels.limits import Limits
from orth.channels.local_first import LocalFirst
from orth.channels.memory import MemoryChannels
from orth.clock import Clock
from orth.distribution import install_command
from orth.errors import CannotStart
from orth.events import Events
from orth.store.database import Database


def open_channels(
    url: str, db: Database, clock: Clock, events: Events, *, prefix: str = "orchestrix", limits: Limits | None = None
) -> Channels:
    """The channels at ``url``; nothing is connected yet. ``db`` stays the caller's to close, after the channels."""
    scheme = url.partition(":")[0]
    bounds = limits or Limits()
    if scheme == "memory":
        return MemoryChannels(clock, bounds)
    if scheme == "database":
        return DatabaseChannels(db, clock, events, bounds)
    if scheme in ("redis", "rediss"):
        return _open_redis(url, clock, prefix, bounds)
    raise CannotStart(f"channels.url names {scheme!r}, which is not supported.", hint="Use memory, database or redis.")


def open_local_first(db: Database, clock: Clock, events: Events, limits: Limits) -> LocalFirst:
    """Channels of this process that can be shared through ``db`` later."""
    return LocalFirst(MemoryChannels(clock, limits), lambda: DatabaseChannels(db, clock, events, limits))


def _open_redis(url: str, clock: Clock, prefix: str, limits: Limits) -> Channels:
    try:
        from orth.channels.redis import RedisChannels
    except ModuleNotFoundError as missing:
        raise CannotStart(
            f"The client for Redis is not installed ({missing.name}).", hint=f"Run: {install_command('redis')}"
        ) from None
    try:
        return RedisChannels(url, clock, prefix=prefix, limits=limits)
    except ValueError as error:  # the address, which may hold a password
        raise CannotStart("channels.url is not an address of Redis.", hint="Write redis://host:6379/0.") from error
