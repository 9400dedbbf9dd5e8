"""A trigger may say from which level on the log of its execution has what is logged."""

import sqlalchemy as sa

from orth.store.migrations.steps import add_column

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    add_column("orth_job_log", sa.Column("log_level", sa.String(8)))
