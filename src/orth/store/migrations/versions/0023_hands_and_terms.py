"""Whose hands an execution went through is found by its number, for its page; a term knows when it ended."""

import sqlalchemy as sa

from orth.store.migrations.steps import add_column, create_index

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    create_index("ix_handoff_execution", "orth_handoff", ["execution_id"])
    add_column("orth_term", sa.Column("ended_at", sa.BigInteger()))
