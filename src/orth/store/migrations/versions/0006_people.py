"""People: what they may and where, and their sessions."""

import sqlalchemy as sa

from orth.store.migrations.steps import add_column, create_index, create_table

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    add_column("orth_job_user", sa.Column("disabled_at", sa.BigInteger()))
    create_table(
        "orth_session",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("way", sa.String(16), nullable=False),
        sa.Column("password_version", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("previous_digest", sa.String(64)),
        sa.Column("successor", sa.String(64)),
        sa.Column("replaced_at", sa.BigInteger()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("idle_until", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("agent", sa.String(200), nullable=False),
    )
    create_index("ix_session_user", "orth_session", ["user_id", "created_at"])
    create_index("ix_session_idle", "orth_session", ["idle_until"])
    create_table(
        "orth_sign_in_link",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
    )
    create_index("ix_sign_in_link_expiry", "orth_sign_in_link", ["expires_at"])
    create_table(
        "orth_sign_in_tally",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
    )
    create_index("ix_sign_in_tally_last", "orth_sign_in_tally", ["last_at"])
    create_table(
        "orth_user_identity",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("bound_at", sa.BigInteger(), nullable=False),
    )
    create_index("ix_user_identity_user", "orth_user_identity", ["user_id"])
    create_table(
        "orth_user_grant",
        sa.Column("user_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("group_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("role", sa.String(16), nullable=False),
    )
    create_index("ix_user_grant_group", "orth_user_grant", ["group_id"])
