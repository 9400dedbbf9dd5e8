"""What is kept about ended executions, retries with pauses, and alarms."""

import sqlalchemy as sa
from alembic import op

from orth.store.migrations.steps import BigId, LongBytes, LongText, add_column, create_index, create_table

revision = "0003"
down_revision = "0002"

_OUTCOMES = """
UPDATE orth_job_log SET outcome = CASE
    WHEN trigger_code NOT IN (0, 200) THEN 4
    WHEN handle_code = 200 THEN 1
    WHEN handle_code = 502 THEN 3
    ELSE 2 END
WHERE phase = 'ended' AND outcome = 0
"""


def upgrade() -> None:
    add_column("orth_job_info", sa.Column("retry_policy", sa.String(255)))
    add_column("orth_job_info", sa.Column("alarm_policy", sa.String(1000)))
    add_column("orth_job_info", sa.Column("child_param", sa.String(16), nullable=False, server_default="own"))
    add_column("orth_job_log", sa.Column("outcome", sa.SmallInteger(), nullable=False, server_default="0"))
    add_column("orth_job_log", sa.Column("late_code", sa.Integer()))
    op.execute(_OUTCOMES)
    create_index("ix_log_outcome", "orth_job_log", ["outcome", "id"])
    create_index("ix_log_job_outcome", "orth_job_log", ["job_id", "outcome", "id"])
    create_index("ix_log_group", "orth_job_log", ["job_group", "id"])
    create_index("ix_log_address", "orth_job_log", ["executor_address", "id"])
    add_column("orth_alarm", sa.Column("job_id", sa.BigInteger(), nullable=False, server_default="0"))
    add_column("orth_alarm", sa.Column("locked_until", sa.BigInteger()))
    add_column("orth_alarm", sa.Column("error", sa.String(500)))
    create_index("ix_alarm_job", "orth_alarm", ["job_id", "id"])
    _create_tables()


def _create_tables() -> None:
    create_table(
        "orth_statistic_delta",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("job_group", sa.BigInteger(), nullable=False),
        sa.Column("hour", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.SmallInteger(), nullable=False),
        sa.Column("executions", sa.Integer(), nullable=False),
        sa.Column("total_ms", sa.BigInteger(), nullable=False),
        sa.Column("longest_ms", sa.BigInteger(), nullable=False),
    )
    create_table(
        "orth_statistic",
        sa.Column("job_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("hour", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("outcome", sa.SmallInteger(), primary_key=True, autoincrement=False),
        sa.Column("job_group", sa.BigInteger(), nullable=False),
        sa.Column("executions", sa.BigInteger(), nullable=False),
        sa.Column("total_ms", sa.BigInteger(), nullable=False),
        sa.Column("longest_ms", sa.BigInteger(), nullable=False),
    )
    create_index("ix_statistic_hour", "orth_statistic", ["hour"])
    create_table(
        "orth_dead_letter",
        sa.Column("execution_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("job_group", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.SmallInteger(), nullable=False),
        sa.Column("reason_code", sa.String(32)),
        sa.Column("replayed_by", sa.BigInteger()),
        sa.Column("dropped_by", sa.String(64)),
    )
    create_index("ix_dead_letter_job", "orth_dead_letter", ["job_id", "execution_id"])
    create_index("ix_dead_letter_ended", "orth_dead_letter", ["ended_at"])
    create_table(
        "orth_log_archive",
        sa.Column("execution_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("stored_at", sa.BigInteger(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("complete", sa.SmallInteger(), nullable=False),
        sa.Column("place", sa.String(255)),
        sa.Column("content", LongBytes),
    )
    create_index("ix_log_archive_stored", "orth_log_archive", ["stored_at"])
    create_table(
        "orth_alarm_channel",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("definition", LongText, nullable=False),
        sa.Column("enabled", sa.SmallInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("update_time", sa.BigInteger(), nullable=False),
    )
    create_table(
        "orth_alarm_standing",
        sa.Column("job_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("execution_id", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("told_at", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
    )
    create_table(
        "orth_silence",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("job_id", sa.BigInteger()),
        sa.Column("job_group", sa.BigInteger()),
        sa.Column("starts_at", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.String(255), nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
    )
    create_index("ix_silence_ends", "orth_silence", ["ends_at"])
