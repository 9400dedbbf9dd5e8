"""Versions of code know the group that their job has left since."""

import sqlalchemy as sa

from orth.store.migrations.steps import add_column

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    add_column("orth_job_logglue", sa.Column("left_group", sa.BigInteger()))
