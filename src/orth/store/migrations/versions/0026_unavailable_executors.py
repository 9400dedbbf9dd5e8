"""Executors say with their beats why they take no new executions."""

import sqlalchemy as sa

from orth.store.migrations.steps import add_column

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    add_column("orth_job_registry", sa.Column("unavailable", sa.String(32)))
