"""Tokens of machines and of programs."""

import sqlalchemy as sa

from orth.store.migrations.steps import BigId, add_column, create_index, create_table, drop_table

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    drop_table("orth_token")  # made by the first schema and never written to
    create_table(
        "orth_machine_token",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("role", sa.String(16)),
        sa.Column("group_roles", sa.Text(), nullable=False),
        sa.Column("app_names", sa.Text(), nullable=False),
        sa.Column("created_by", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger()),
        sa.Column("last_used_at", sa.BigInteger()),
        sa.Column("revoked_at", sa.BigInteger()),
    )
    create_index("ix_token_kind", "orth_machine_token", ["kind", "id"])
    create_table(
        "orth_machine_token_secret",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("token_id", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.String(16), nullable=False),
        sa.Column("shown", sa.String(24), nullable=False),
        sa.Column("sealed", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("valid_until", sa.BigInteger()),
    )
    create_index("ix_token_secret_token", "orth_machine_token_secret", ["token_id"])
    create_index("ix_token_secret_key", "orth_machine_token_secret", ["key_id"])
    add_column("orth_job_registry", sa.Column("key_id", sa.String(16)))
