"""A term is of one process, also where a database that went back in time gives its number out again."""

import sqlalchemy as sa

from orth.store.migrations.steps import add_column

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    add_column("orth_epoch", sa.Column("incarnation", sa.String(64)))
