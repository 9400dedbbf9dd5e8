"""Who led, and which executions changed hands."""

import sqlalchemy as sa

from orth.store.migrations.steps import BigId, create_table

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    create_table(
        "orth_term",
        sa.Column("epoch", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("node_id", sa.String(64), nullable=False),
        sa.Column("incarnation", sa.String(64), nullable=False),
        sa.Column("began_at", sa.BigInteger(), nullable=False),
    )
    create_table(
        "orth_handoff",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("execution_id", sa.BigInteger(), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("from_node", sa.String(64)),
        sa.Column("to_node", sa.String(64), nullable=False),
        sa.Column("reason", sa.String(16), nullable=False),
        sa.Column("offered", sa.SmallInteger(), nullable=False),
        sa.Column("waited_ms", sa.BigInteger(), nullable=False),
        sa.Column("taker_came_later", sa.SmallInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
    )
