"""Messages about one job go out by one channel in the order in which they were made.

The later one waits until the earlier one was told or given up: nobody hears that a job is well again, and then that it
fails. And nobody hears that it is well again who never heard that it failed.
"""

from sqlalchemy import Connection, exists, select, update

from orth.domain.alarms import AlarmKind, AlarmState
from orth.store.engines import among
from orth.store.record_tables import alarms

UNSETTLED = (AlarmState.WAITING, AlarmState.SENDING)
_HELD_BACK = 500
_LOOKED_BACK = 100

_earlier = alarms.alias("earlier")
HAS_EARLIER = exists().where(
    _earlier.c.job_id == alarms.c.job_id,
    _earlier.c.id < alarms.c.id,
    _earlier.c.channel == alarms.c.channel,
    _earlier.c.state.in_(UNSETTLED),
)
"""Whether a message has to wait for another one."""


def hold_back(connection: Connection, now: int, until: int) -> None:
    """Put off due messages that wait for an earlier one; its end lets them go sooner."""
    waiting = select(alarms.c.id).where(alarms.c.state == AlarmState.WAITING, alarms.c.next_attempt <= now, HAS_EARLIER)
    ids = list(connection.scalars(waiting.limit(_HELD_BACK)))
    if ids:
        connection.execute(update(alarms).where(among(connection, alarms.c.id, ids)).values(next_attempt=until))


def let_followers_go(connection: Connection, job_id: int, channel: str, now: int) -> None:
    """A message about a job is settled by a channel: what waited for it is due."""
    connection.execute(
        update(alarms)
        .where(alarms.c.job_id == job_id, alarms.c.channel == channel, alarms.c.state == AlarmState.WAITING)
        .values(next_attempt=now)
    )


def has_heard(connection: Connection, job_id: int, channel: str, before: int) -> bool:
    """Whether the receivers of a channel were told, since they last heard that a job is well, that it fails. Where no
    message about that is left, they were.
    """
    earlier = (
        select(alarms.c.kind, alarms.c.state)
        .where(alarms.c.job_id == job_id, alarms.c.channel == channel, alarms.c.id < before)
        .order_by(alarms.c.id.desc())
        .limit(_LOOKED_BACK)
    )
    unheard = False
    for row in connection.execute(earlier):
        if row.kind == AlarmKind.RESOLVED:
            break
        if row.state == AlarmState.TOLD:
            return True
        unheard = True
    return not unheard
