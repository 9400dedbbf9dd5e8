"""Code that is edited centrally: which groups allow it, and what tests run."""

import sqlalchemy as sa

from orth.store.migrations.steps import LongText, add_column, create_table

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    add_column("orth_job_group", sa.Column("scripts_allowed", sa.SmallInteger(), nullable=False, server_default="0"))
    create_table(
        "orth_script_draft",
        sa.Column("execution_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("glue_type", sa.String(50), nullable=False),
        sa.Column("glue_source", LongText, nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
    )
