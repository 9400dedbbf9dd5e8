"""The audit, and secrets of jobs."""

from sqlalchemy import BigInteger, Column, Index, Integer, String, UniqueConstraint

from orth.store.schema import BigId, Instant, LongText, table

audit = table(
    "orth_audit",
    Column("seq", BigInteger, primary_key=True, autoincrement=False),  # from the head: without gaps
    Column("at", Instant, nullable=False),
    Column("actor_kind", String(16), nullable=False),
    Column("actor", String(128), nullable=False),
    Column("address", String(64), nullable=False),
    Column("action", String(64), nullable=False),
    Column("object_kind", String(32), nullable=False),
    Column("object_id", String(128), nullable=False),
    Column("group_id", BigInteger),
    Column("before", LongText),
    Column("after", LongText),
    Column("previous_digest", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
    Index("ix_audit_object", "object_kind", "object_id", "seq"),
    Index("ix_audit_actor", "actor", "seq"),
    Index("ix_audit_action", "action", "seq"),
)

# One row, locked by whoever adds an entry: entries are chained in the order of their commits.
audit_head = table(
    "orth_audit_head",
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("strangers_since", Instant, nullable=False),  # since when strangers' entries are counted
    Column("strangers", Integer, nullable=False),
    Column("doors", Integer, nullable=False, server_default="0"),  # of these, those at the doors of executors, apart
)

job_secrets = table(
    "orth_job_secret",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("job_group", BigInteger, nullable=False),  # 0 = every group
    Column("name", String(64), nullable=False),
    Column("sealed", LongText, nullable=False),
    Column("version", Integer, nullable=False),
    Column("updated_by", String(128), nullable=False),
    Column("update_time", Instant, nullable=False),
    UniqueConstraint("job_group", "name", name="uq_job_secret"),
)
