"""The audit, and secrets of jobs."""

import sqlalchemy as sa
from alembic import op

from orth.store.migrations.steps import BigId, LongText, add_column, create_index, create_table, drop_table

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    add_column("orth_job_info", sa.Column("secrets", sa.Text()))
    known = sa.inspect(op.get_bind())
    if known.has_table("orth_audit") and "seq" not in {column["name"] for column in known.get_columns("orth_audit")}:
        drop_table("orth_audit")  # made by the first schema and never written to
    create_table(
        "orth_audit",
        sa.Column("seq", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor_kind", sa.String(16), nullable=False),
        sa.Column("actor", sa.String(128), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("object_kind", sa.String(32), nullable=False),
        sa.Column("object_id", sa.String(128), nullable=False),
        sa.Column("group_id", sa.BigInteger()),
        sa.Column("before", LongText),
        sa.Column("after", LongText),
        sa.Column("previous_digest", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
    )
    create_index("ix_audit_object", "orth_audit", ["object_kind", "object_id", "seq"])
    create_index("ix_audit_actor", "orth_audit", ["actor", "seq"])
    create_index("ix_audit_action", "orth_audit", ["action", "seq"])
    create_table(
        "orth_audit_head",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("strangers_since", sa.BigInteger(), nullable=False),
        sa.Column("strangers", sa.Integer(), nullable=False),
    )
    create_table(
        "orth_job_secret",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("job_group", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("sealed", LongText, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("updated_by", sa.String(128), nullable=False),
        sa.Column("update_time", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("job_group", "name", name="uq_job_secret"),
    )
