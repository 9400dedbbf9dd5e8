"""What people chose for the console, kept with them instead of with a browser."""

import sqlalchemy as sa

from orth.store.migrations.steps import LongText, create_table

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    create_table(
        "orth_user_preference",
        sa.Column("user_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("chosen", LongText, nullable=False),
        sa.Column("update_time", sa.BigInteger(), nullable=False),
    )
