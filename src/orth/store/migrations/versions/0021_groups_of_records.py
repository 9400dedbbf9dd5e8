"""Batches, alarms and silences of jobs know the group in which they arose, as executions do: jobs move, these stay.

What is there already belongs where its execution was opened; if that is not known, where its job is.
"""

import sqlalchemy as sa
from alembic import op

from orth.store.migrations.steps import add_column

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    job = _table("orth_job_info", "id", "job_group")
    log = _table("orth_job_log", "id", "job_group", "batch_id")
    for name in ("orth_batch", "orth_alarm", "orth_alarm_standing"):
        add_column(name, sa.Column("job_group", sa.BigInteger(), nullable=False, server_default="0"))
        row = _table(name, "id", "job_id", "job_group", "execution_id")
        mine = log.c.batch_id == row.c.id if name == "orth_batch" else log.c.id == row.c.execution_id
        # By a sum, so that no database walks through the whole history to find the first.
        first = sa.select(log.c.job_group).where(mine).order_by(log.c.id + 0).limit(1).scalar_subquery()
        now = sa.select(job.c.job_group).where(job.c.id == row.c.job_id).scalar_subquery()
        op.execute(row.update().where(row.c.job_group == 0).values(job_group=sa.func.coalesce(first, now, 0)))
    silence = _table("orth_silence", "job_id", "job_group")
    now = sa.select(job.c.job_group).where(job.c.id == silence.c.job_id).scalar_subquery()
    op.execute(
        silence.update().where(silence.c.job_id.is_not(None), silence.c.job_group.is_(None)).values(job_group=now)
    )


def _table(name: str, *columns: str) -> sa.TableClause:
    return sa.table(name, *(sa.column(column) for column in columns))
