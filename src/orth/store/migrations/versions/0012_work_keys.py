"""The work key of each executor process, sealed; services that registered with the token of an app are its own."""

import sqlalchemy as sa

from orth.store.migrations.steps import add_column, replace_unique

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    add_column("orth_job_registry", sa.Column("work_key", sa.String(255)))
    add_column("orth_service", sa.Column("owner", sa.String(64), nullable=False, server_default=sa.text("''")))
    replace_unique("orth_service", "uq_service_url", ["kind", "url", "owner"])
