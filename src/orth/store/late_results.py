"""Results that come for executions that have ended: written down once, and never applied."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from sqlalchemy import Connection, select, update

from orth.domain.executions import SUCCESS, Phase, status_of
from orth.store.engines import among, locked
from orth.store.tables import executions

_IDS_PER_STATEMENT = 500


def record_late(connection: Connection, codes: Mapping[int, int], given_up: Collection[str]) -> set[int]:
    """Keep the codes that were reported of executions that had ended otherwise, or for one of the reasons ``given_up``,
    which means that nobody knew how; those of which nothing late was kept before. The rows are locked until the
    transaction ends.
    """
    recorded: set[int] = set()
    for chunk in _chunks(sorted(codes)):
        columns = executions.c
        ended = select(columns.id, columns.trigger_code, columns.handle_code, columns.reason_code).where(
            among(connection, executions.c.id, chunk),
            executions.c.phase == Phase.ENDED,
            executions.c.late_code.is_(None),
        )
        for row in connection.execute(locked(ended.order_by(executions.c.id), connection)).all():
            said = status_of(SUCCESS, codes[row.id])
            if said is status_of(row.trigger_code, row.handle_code) and row.reason_code not in given_up:
                continue
            connection.execute(update(executions).where(executions.c.id == row.id).values(late_code=codes[row.id]))
            recorded.add(row.id)
    return recorded


def _chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), _IDS_PER_STATEMENT):
        yield ids[start : start + _IDS_PER_STATEMENT]
