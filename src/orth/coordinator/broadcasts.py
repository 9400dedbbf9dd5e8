"""A broadcast is one execution per address, a shard each, and an end that all of them share.

Which addresses there are is decided when it is opened, in the same transaction: a shard keeps its number, its address
and the total, however the group changes afterwards, and a retry of it is that shard again. What follows from a
broadcast (children, the next delay) follows when the last shard has ended for good. An address gets no shard if the
coordinator that opens it cannot reach it, if it is drained, or if its executor says with its beats that it takes no
work: the others share its part. Registered addresses of one host and port get one shard, whatever their paths; a list
that an administrator wrote gets one for each address. Addresses that a caller names are not judged.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from orth.domain.broadcasts import Tally
from orth.domain.executions import Execution, Status
from orth.domain.jobs import AddressType, Group, Job, RouteStrategy
from orth.domain.nodes import normal_address, shares, taking_work, undrained
from orth.domain.selectors import parse_selector
from orth.errors import Invalid
from orth.store.broadcasts import count_ended, open_broadcast
from orth.store.database import Connection
from orth.store.executions import Opening, opened_keys
from orth.store.executor_entries import list_executors
from orth.store.groups import groups_by_id

Avoid = Callable[[Sequence[str]], tuple[str, ...]]
"""Leaves out addresses that are not worth sending to (``Reach.avoid``)."""

EVERYBODY: Avoid = tuple
"""For whoever has no opinion about addresses."""


def is_broadcast(job: Job) -> bool:
    return job.executor_route_strategy is RouteStrategy.SHARDING_BROADCAST


def in_shards(
    connection: Connection, openings: Sequence[Opening], jobs: Mapping[int, Job], avoid: Avoid = EVERYBODY
) -> list[Opening]:
    """``openings`` with those of broadcasting jobs split, one for each address.

    A key that has opened something is left out, for the addresses may have changed since: it must not gain a shard.
    """
    opened = [opening for opening in openings if not is_broadcast(jobs[opening.job_id])]
    broadcasting = [opening for opening in openings if is_broadcast(jobs[opening.job_id])]
    if not broadcasting:
        return opened
    groups = groups_by_id(connection, {opening.job_group for opening in broadcasting})
    known = opened_keys(connection, [(opening.job_id, opening.trigger_key) for opening in broadcasting])
    for opening in broadcasting:
        if (opening.job_id, opening.trigger_key) not in known:
            group = groups.get(opening.job_group)
            # With none, dispatch tells why: that there is nobody, or that the group cannot be read.
            unusable = group is None or group.unreadable
            listed = () if unusable else _wanted(connection, jobs[opening.job_id], groups[opening.job_group], avoid)
            opened += _shards(connection, opening, opening.addresses or _one_each(group, listed))
    return opened


def _wanted(connection: Connection, job: Job, group: Group, avoid: Avoid) -> tuple[str, ...]:
    """The addresses of the group with the labels the job asks for, without those that are drained; and, if others
    remain, without those to avoid and those of executors that take no work.
    """
    try:
        selector = parse_selector(job.label_selector)
    except Invalid:
        return ()  # dispatch tells why nothing can be chosen
    entries = list_executors(connection, group.app_name)
    labels = {normal_address(one.address): one.known_labels for one in entries}
    found = ((one, labels.get(normal_address(one), {})) for one in group.addresses)
    fit = tuple(one for one, its in found if its is not None and selector.admits(its))
    return taking_work(avoid(undrained(fit, entries)), entries)


def _one_each(group: Group | None, addresses: tuple[str, ...]) -> tuple[str, ...]:
    """One address for each host and port, unless an administrator wrote the list."""
    if group is None or group.address_type is not AddressType.AUTO:
        return addresses
    return tuple(some[0] for some in shares(addresses))


def _shards(connection: Connection, opening: Opening, addresses: Sequence[str]) -> list[Opening]:
    places = list(dict.fromkeys(addresses))
    if len(places) <= 1:
        return [replace(opening, addresses=tuple(places))]  # with none, dispatch says that there is no executor
    broadcast_id = open_broadcast(connection, opening.job_id, len(places))
    return [
        replace(opening, addresses=(place,), shard_index=index, shard_total=len(places), broadcast_id=broadcast_id)
        for index, place in enumerate(places)
    ]


def completed(connection: Connection, ended: Iterable[Execution]) -> dict[int, Tally]:
    """What executions completed by ending for good, by id: themselves, or the broadcast whose last shard they were. A
    shard that others outlast completes nothing.
    """
    wholes: dict[int, Tally] = {}
    shards: dict[int, Tally] = {}
    last: dict[int, int] = {}
    for one in ended:
        tally = Tally(succeeded=1) if one.status is Status.SUCCESS else Tally(failed=1)
        if one.broadcast_id is None:
            wholes[one.id] = tally
        else:
            shards[one.broadcast_id] = shards.get(one.broadcast_id, Tally()) + tally
            last[one.broadcast_id] = one.id
    if shards:
        wholes |= {last[broadcast]: tally for broadcast, tally in count_ended(connection, shards).items()}
    return wholes
