"""What registry, routing, dispatch and batches keep."""

import sqlalchemy as sa

from orth.store.migrations.steps import (
    BigId,
    LongText,
    add_column,
    create_index,
    create_table,
    drop_column,
    lengthen_text,
)

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    lengthen_text("orth_job_group", "address_list")
    add_column("orth_job_group", sa.Column("dialect", sa.String(8), nullable=False, server_default="auto"))
    add_column("orth_job_registry", sa.Column("since", sa.BigInteger(), nullable=False, server_default="0"))
    add_column("orth_job_registry", sa.Column("load", sa.Integer()))
    add_column("orth_job_registry", sa.Column("labels", sa.Text()))
    add_column("orth_job_registry", sa.Column("clock_offset", sa.Integer()))
    drop_column("orth_job_info", "route_counter")  # orth_route counts
    add_column("orth_job_info", sa.Column("label_selector", sa.String(255)))
    add_column("orth_job_info", sa.Column("child_per_shard", sa.SmallInteger(), nullable=False, server_default="0"))
    add_column("orth_job_info", sa.Column("lost_after", sa.Integer(), nullable=False, server_default="0"))
    add_column("orth_job_log", sa.Column("reason_code", sa.String(32)))
    add_column("orth_job_log", sa.Column("not_before", sa.BigInteger()))
    add_column("orth_job_log", sa.Column("recalled", sa.String(32)))
    add_column("orth_job_log", sa.Column("batch_id", sa.BigInteger()))
    add_column("orth_job_log", sa.Column("broadcast_id", sa.BigInteger()))
    create_index("ix_log_batch", "orth_job_log", ["batch_id", "phase"])
    _create_tables()


def _create_tables() -> None:
    create_table(
        "orth_execution_note",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("execution_id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("node_id", sa.String(64), nullable=False),
        sa.Column("code", sa.String(32), nullable=False),
        sa.Column("message", sa.String(500), nullable=False),
    )
    create_index("ix_note_execution", "orth_execution_note", ["execution_id", "id"])
    create_table(
        "orth_route",
        sa.Column("job_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("address", sa.String(255), primary_key=True),
        sa.Column("uses", sa.BigInteger(), nullable=False),
        sa.Column("last_use", sa.BigInteger(), nullable=False),
    )
    create_table(
        "orth_reach",
        sa.Column("node_id", sa.String(64), primary_key=True),
        sa.Column("address", sa.String(255), primary_key=True),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("checked_at", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.String(255), nullable=False),
    )
    create_table(
        "orth_broadcast",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("succeeded", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
    )
    create_table(
        "orth_batch",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("trigger_key", sa.String(160), nullable=False),
        sa.Column("request_digest", sa.String(64), nullable=False),
        sa.Column("start_time", sa.BigInteger(), nullable=False),
        sa.Column("end_time", sa.BigInteger(), nullable=False),
        sa.Column("next_time", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("opened", sa.Integer(), nullable=False),
        sa.Column("at_once", sa.Integer(), nullable=False),
        sa.Column("executor_param", LongText),
        sa.Column("address_list", sa.String(1000)),
        sa.Column("skip_done", sa.SmallInteger(), nullable=False),
        sa.Column("timing", sa.String(64), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("reason", sa.String(255), nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("job_id", "trigger_key", name="uq_batch_trigger"),
    )
    create_index("ix_batch_state", "orth_batch", ["state", "id"])
