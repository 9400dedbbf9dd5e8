"""Services that registered, and what was told about them."""

import sqlalchemy as sa

from orth.store.migrations.steps import create_index, create_table, drop_table

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    drop_table("orth_orchestrator")  # made by the first schema and never written to, like the next
    drop_table("orth_agent")
    create_table(
        "orth_service",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("url", sa.String(255), nullable=False),
        sa.Column("incarnation", sa.String(64)),
        sa.Column("orchestrator_id", sa.String(64)),
        sa.Column("name", sa.String(64)),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("failing", sa.String(16)),
        sa.Column("failing_since", sa.BigInteger()),
        sa.Column("status_before", sa.String(16)),
        sa.Column("registered_at", sa.BigInteger(), nullable=False),
        sa.Column("last_heartbeat", sa.BigInteger(), nullable=False),
        sa.Column("beats", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("kind", "url", name="uq_service_url"),
    )
    create_index("ix_service_heartbeat", "orth_service", ["last_heartbeat"])
    create_table(
        "orth_service_event",
        sa.Column("seq", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("type", sa.String(32), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
    )
    create_table(
        "orth_service_head",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
    )
