"""Attempts know the first attempt at what they do; executors say which handlers they could not end.

Of an attempt that is open now, the execution it follows counts as the first.
"""

import sqlalchemy as sa
from alembic import op

from orth.store.migrations.steps import add_column

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    add_column("orth_job_registry", sa.Column("left_behind", sa.Text()))
    add_column("orth_job_log", sa.Column("root_id", sa.BigInteger()))
    log = sa.table("orth_job_log", *(sa.column(name) for name in ("root_id", "origin_id", "cause", "phase")))
    is_open = log.c.phase.in_(
        ("opened", "dispatching", "unknown", "offered", "dispatched", "queued", "running", "reporting")
    )
    is_attempt = sa.and_(log.c.origin_id.is_not(None), log.c.cause != "parent")
    op.execute(log.update().where(is_open, is_attempt).values(root_id=log.c.origin_id))
