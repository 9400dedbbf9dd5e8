"""What coordinators know of each other, and which of them looks after an execution."""

import sqlalchemy as sa

from orth.store.migrations.steps import BigId, LongText, add_column, create_index, create_table, drop_table

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    add_column("orth_owner", sa.Column("incarnation", sa.String(64)))
    create_index("ix_owner_state", "orth_owner", ["state", "execution_id"])
    for name, kind in {
        "beats": sa.BigInteger(),
        "queued_count": sa.Integer(),
        "cpu_millicores": sa.Integer(),
        "memory_bytes": sa.BigInteger(),
        "process_id": sa.Integer(),
    }.items():
        add_column("orth_node", sa.Column(name, kind, nullable=False, server_default="0"))
    add_column("orth_node", sa.Column("wish", sa.String(16)))
    add_column("orth_node", sa.Column("hostname", sa.String(255)))
    _add_queues()
    _create_channels()


def _add_queues() -> None:
    empty = sa.text("''")
    add_column("orth_job_info", sa.Column("executor_queue", sa.String(64), nullable=False, server_default=empty))
    add_column("orth_job_info", sa.Column("priority", sa.SmallInteger(), nullable=False, server_default="1"))
    add_column("orth_job_log", sa.Column("queue", sa.String(160)))
    add_column("orth_job_log", sa.Column("priority", sa.SmallInteger()))
    add_column("orth_job_log", sa.Column("offered_at", sa.BigInteger()))
    add_column("orth_job_registry", sa.Column("queues", sa.Text()))


def _create_channels() -> None:
    drop_table("orth_channel_message")  # made by the first schema and never written to
    create_table(
        "orth_queue_message",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("queue", sa.String(255), nullable=False),
        sa.Column("consumer", sa.String(255)),
        sa.Column("take_id", sa.String(16)),
        sa.Column("deliveries", sa.Integer(), nullable=False),
        sa.Column("payload", LongText, nullable=False),
    )
    create_index("ix_queue_message", "orth_queue_message", ["queue", "consumer", "id"])
    create_table(
        "orth_queue_dead",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("queue", sa.String(255), nullable=False),
        sa.Column("died_at", sa.BigInteger(), nullable=False),
        sa.Column("payload", LongText, nullable=False),
    )
    create_index("ix_queue_dead", "orth_queue_dead", ["queue", "id"])
    create_index("ix_queue_dead_died", "orth_queue_dead", ["died_at"])
    create_table(
        "orth_box",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("name", sa.String(255), nullable=False, unique=True),
        sa.Column("last_position", sa.BigInteger(), nullable=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.Column("grown_at", sa.BigInteger(), nullable=False),
    )
    create_index("ix_box_grown", "orth_box", ["grown_at"])
    create_table(
        "orth_box_entry",
        sa.Column("box_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("position", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("payload", LongText, nullable=False),
    )
    create_table(
        "orth_announcement",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("origin", sa.String(64), nullable=False),
        sa.Column("payload", LongText, nullable=False),
    )
