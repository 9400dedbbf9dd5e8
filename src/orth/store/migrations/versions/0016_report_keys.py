"""Which executions may only be reported by whom they were sent to; and what strangers do at the doors of executors is
counted apart.
"""

import sqlalchemy as sa

from orth.store.migrations.steps import add_column

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    add_column("orth_job_log", sa.Column("keyed_epoch", sa.BigInteger()))
    add_column("orth_audit_head", sa.Column("doors", sa.Integer(), nullable=False, server_default="0"))
