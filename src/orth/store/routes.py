"""Where executions went: what the strategies know, shared by the cluster.

The memory of those that look back is read and written in the transaction that claims executions, so that no two terms
count the same use. The row with an empty address is the job's counter, for ROUND. What is open at each address is
counted from the executions themselves: what has ended is out of it with the commit that ended it.
"""

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, delete, func, select

from orth.domain.executions import TAKEN_PHASES, Phase
from orth.store.engines import among, chunks, insert_new, update_many
from orth.store.tables import executions, routes

_COUNTER = ""
_AT_AN_ADDRESS = (Phase.DISPATCHING, Phase.UNKNOWN, *TAKEN_PHASES)
_JOBS_PER_STATEMENT = 500

Memory = dict[int, dict[str, tuple[int, int]]]
"""By job, by address: how often it was used, and the number of its last use."""


def route_numbers(connection: Connection, jobs: Iterable[int]) -> dict[int, int]:
    """For each of these jobs, how many of its executions were counted so far."""
    found: dict[int, int] = {}
    for chunk in _chunks(jobs):
        rows = select(routes.c.job_id, routes.c.last_use).where(
            among(connection, routes.c.job_id, chunk), routes.c.address == _COUNTER
        )
        found |= {row.job_id: row.last_use for row in connection.execute(rows)}
    return found


def keep_route_numbers(connection: Connection, numbers: Mapping[int, int], before: Mapping[int, int]) -> None:
    """Write the counters that have grown since they were read as ``before``."""
    rows = [
        {"job_id": job, "address": _COUNTER, "uses": 0, "last_use": number}
        for job, number in sorted(numbers.items())
        if number != before.get(job)
    ]
    _keep(connection, rows, {(job, _COUNTER) for job in before})


def route_memory(connection: Connection, jobs: Iterable[int]) -> Memory:
    """What these jobs remember."""
    found: Memory = {}
    for chunk in _chunks(jobs):
        rows = connection.execute(
            select(routes).where(among(connection, routes.c.job_id, chunk), routes.c.address != _COUNTER)
        )
        for row in rows:
            found.setdefault(row.job_id, {})[row.address] = (row.uses, row.last_use)
    return found


def keep_route_memory(connection: Connection, memory: Memory, before: Memory) -> None:
    """Write what differs from what was read as ``before``; an address that is no longer remembered goes."""
    rows: list[dict[str, object]] = []
    for job, uses in sorted(memory.items()):
        old = before.get(job, {})
        gone = [address for address in old if address not in uses]
        if gone:
            connection.execute(delete(routes).where(routes.c.job_id == job, among(connection, routes.c.address, gone)))
        rows += [
            {"job_id": job, "address": address, "uses": use[0], "last_use": use[1]}
            for address, use in sorted(uses.items())
            if old.get(address) != use
        ]
    _keep(connection, rows, {(job, address) for job, uses in before.items() for address in uses})


def open_at_addresses(connection: Connection) -> dict[tuple[str, str | None], int]:
    """How many executions are at each process or on their way to it, by its address and incarnation.

    One statement for all of them, which reads the open executions by their phase and nothing of the history.
    """
    at = executions.c.executor_address, executions.c.incarnation
    counted = select(*at, func.count()).where(
        executions.c.phase.in_(_AT_AN_ADDRESS), executions.c.executor_address.is_not(None)
    )
    return {(address, incarnation): count for address, incarnation, count in connection.execute(counted.group_by(*at))}


def processes_with_executions(connection: Connection, addresses: Iterable[str]) -> set[tuple[str, str | None]]:
    """Which processes at these addresses have open executions, or may have them: by address and incarnation."""
    at = executions.c.executor_address, executions.c.incarnation
    found: set[tuple[str, str | None]] = set()
    for chunk in chunks(sorted(addresses)):
        here = executions.c.phase.in_(_AT_AN_ADDRESS), among(connection, executions.c.executor_address, chunk)
        rows = connection.execute(select(*at).where(*here).distinct())
        found |= {(address, incarnation) for address, incarnation in rows}
    return found


def forget_routes(connection: Connection, job_id: int) -> None:
    """The job is gone, and with it what it remembers."""
    connection.execute(delete(routes).where(routes.c.job_id == job_id))


def _keep(connection: Connection, rows: list[dict[str, object]], known: set[tuple[int, str]]) -> None:
    update_many(
        connection, routes, ("job_id", "address"), [row for row in rows if (row["job_id"], row["address"]) in known]
    )
    insert_new(connection, routes, [row for row in rows if (row["job_id"], row["address"]) not in known])


def _chunks(jobs: Iterable[int]) -> Iterable[list[int]]:
    ids = sorted(set(jobs))
    for start in range(0, len(ids), _JOBS_PER_STATEMENT):
        yield ids[start : start + _JOBS_PER_STATEMENT]
