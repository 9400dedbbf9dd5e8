"""Executors have keys of their own; groups say whom they admit; a token may admit one executor."""

import sqlalchemy as sa

from orth.store.migrations.steps import BigId, add_column, create_index, create_table

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    create_table(
        "orth_executor_key",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("key_id", sa.String(16), nullable=False),
        sa.Column("app_name", sa.String(64), nullable=False),
        sa.Column("sealed", sa.String(255), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("address", sa.String(255), nullable=False),
        sa.Column("source", sa.String(64), nullable=False),
        sa.Column("token_id", sa.BigInteger()),
        sa.Column("token_key", sa.String(16), nullable=False),
        sa.Column("first_seen", sa.BigInteger(), nullable=False),
        sa.Column("last_seen", sa.BigInteger()),
        sa.Column("decided_by", sa.String(64)),
        sa.Column("decided_at", sa.BigInteger()),
        sa.UniqueConstraint("key_id", name="uq_executor_key"),
    )
    create_index("ix_executor_key_app", "orth_executor_key", ["app_name", "state"])
    create_index("ix_executor_key_token", "orth_executor_key", ["token_key", "first_seen"])
    add_column("orth_job_group", sa.Column("admission", sa.String(8), nullable=False, server_default="open"))
    add_column("orth_machine_token", sa.Column("once", sa.Integer(), nullable=False, server_default="0"))
