"""Executors that get no new work because somebody said so; when an executor took an execution."""

import sqlalchemy as sa

from orth.store.migrations.steps import add_column, create_table

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    create_table(
        "orth_executor_drain",
        sa.Column("app_name", sa.String(255), primary_key=True),
        sa.Column("address", sa.String(255), primary_key=True),
        sa.Column("since", sa.BigInteger(), nullable=False),
    )
    add_column("orth_job_log", sa.Column("dispatch_time", sa.BigInteger()))
