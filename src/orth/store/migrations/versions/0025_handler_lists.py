"""Lists of handlers are stored once for each app, and a row of the registry names its list."""

import sqlalchemy as sa

from orth.store.migrations.steps import BigId, LongText, add_column, create_table, drop_column

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    create_table(
        "orth_handler_list",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("app_name", sa.String(255), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("handlers", LongText, nullable=False),
        sa.Column("named_at", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("app_name", "digest", name="uq_handler_list"),
    )
    add_column("orth_job_registry", sa.Column("handlers_digest", sa.String(64)))
    drop_column("orth_job_registry", "handlers")
