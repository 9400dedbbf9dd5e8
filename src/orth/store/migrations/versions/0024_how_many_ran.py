"""Counts of ended executions say how many of them ran: what never began has no duration."""

import sqlalchemy as sa

from orth.store.migrations.steps import add_column

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    add_column("orth_statistic_delta", sa.Column("ran", sa.Integer()))
    add_column("orth_statistic", sa.Column("ran", sa.BigInteger()))
