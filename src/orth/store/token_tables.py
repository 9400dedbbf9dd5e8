"""Where tokens of programs and of executors are kept. What a token is, and what proves it, are apart: while a token is
rotated, two secrets prove it.
"""

from sqlalchemy import BigInteger, Column, Index, Integer, String, Text, UniqueConstraint

from orth.store.schema import BigId, Instant, table

tokens = table(
    "orth_machine_token",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("kind", String(16), nullable=False),  # api, executor
    Column("name", String(64), nullable=False),
    Column("role", String(16)),  # of API tokens: in every group
    Column("group_roles", Text, nullable=False),  # a JSON object: group id to role
    Column("app_names", Text, nullable=False),  # of executor tokens: a JSON list
    Column("created_by", String(64), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant),
    Column("last_used_at", Instant),
    Column("revoked_at", Instant),
    Column("networks", Text),  # of executor tokens: a JSON list of those it is accepted from; null: from everywhere
    Column("once", Integer, nullable=False, server_default="0"),  # 1: it admits one executor, and is used up by that
    Index("ix_token_kind", "kind", "id"),
)

token_secrets = table(
    "orth_machine_token_secret",
    Column("digest", String(64), primary_key=True),  # SHA-256 of the whole token
    Column("token_id", BigInteger, nullable=False),
    Column("key_id", String(16), nullable=False),  # how signatures name it
    Column("shown", String(24), nullable=False),  # its beginning, for people
    Column("sealed", Text),  # of executor tokens: coordinators show it to executors
    Column("created_at", Instant, nullable=False),
    Column("valid_until", Instant),  # of one that was replaced
    Index("ix_token_secret_token", "token_id"),
    Index("ix_token_secret_key", "key_id"),
)

# Keys of executors, which each makes for itself and gives at its enrolment.
enrolled_keys = table(
    "orth_executor_key",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("key_id", String(16), nullable=False),  # how signatures name it
    Column("app_name", String(64), nullable=False),
    Column("sealed", String(255), nullable=False),
    Column("state", String(16), nullable=False),  # waiting, admitted, revoked
    Column("address", String(255), nullable=False),  # where the executor says that it is
    Column("source", String(64), nullable=False),  # where its enrolment came from
    Column("token_id", BigInteger),  # of its group; null: the one that all share
    Column("token_key", String(16), nullable=False),  # the name of that token's key
    Column("first_seen", Instant, nullable=False),
    Column("last_seen", Instant),
    Column("decided_by", String(64)),  # who admitted or revoked it; null: its token let it in
    Column("decided_at", Instant),
    UniqueConstraint("key_id", name="uq_executor_key"),
    Index("ix_executor_key_app", "app_name", "state"),
    Index("ix_executor_key_token", "token_key", "first_seen"),
)
