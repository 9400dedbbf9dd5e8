"""What executors say of themselves with their beats: what runs and waits there, slots, backlog, interpreter."""

import sqlalchemy as sa

from orth.store.migrations.steps import add_column

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    add_column("orth_job_registry", sa.Column("vitals", sa.String(255)))
