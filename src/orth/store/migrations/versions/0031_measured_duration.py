"""Executions know how long their handlers ran, as their executors measured. Null: from its start until its end."""

import sqlalchemy as sa

from orth.store.migrations.steps import add_column

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    add_column("orth_job_log", sa.Column("duration_ms", sa.BigInteger()))
