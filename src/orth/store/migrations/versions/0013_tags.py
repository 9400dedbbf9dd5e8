"""What people look for a job by."""

import sqlalchemy as sa

from orth.store.migrations.steps import add_column

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    add_column("orth_job_info", sa.Column("tags", sa.String(400)))
