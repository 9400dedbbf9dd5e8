"""Jobs say where their block strategy holds, and ends that no executor has confirmed yet are kept."""

import sqlalchemy as sa

from orth.store.migrations.steps import add_column, create_index, create_table

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    add_column("orth_job_info", sa.Column("overlap", sa.String(8), nullable=False, server_default="cluster"))
    create_table(
        "orth_unconfirmed_end",
        sa.Column("execution_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("job_group", sa.BigInteger(), nullable=False),
        sa.Column("shard_index", sa.Integer(), nullable=False),
        sa.Column("trigger_time", sa.BigInteger(), nullable=False),
        sa.Column("executor_address", sa.String(255)),
        sa.Column("incarnation", sa.String(64)),
        sa.Column("queue", sa.String(160)),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
    )
    create_index("ix_unconfirmed_end_job", "orth_unconfirmed_end", ["job_id"])
