"""A token of executors may name the networks from which it is accepted."""

import sqlalchemy as sa

from orth.store.migrations.steps import add_column

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    add_column("orth_machine_token", sa.Column("networks", sa.Text()))
