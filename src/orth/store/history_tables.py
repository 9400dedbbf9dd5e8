"""What is remembered of the cluster, for people: who led, and which executions changed hands."""

from sqlalchemy import BigInteger, Column, Index, SmallInteger, String

from orth.store.schema import BigId, Instant, table

terms = table(
    "orth_term",
    Column("epoch", BigInteger, primary_key=True, autoincrement=False),
    Column("node_id", String(64), nullable=False),
    Column("incarnation", String(64), nullable=False),
    Column("began_at", Instant, nullable=False),
    Column("ended_at", Instant),  # of one that crashed: its last beat
)

# The execution may be gone by the time somebody reads this: its row says nothing but its number.
handoffs = table(
    "orth_handoff",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("execution_id", BigInteger, nullable=False),
    Column("job_id", BigInteger, nullable=False),
    Column("from_node", String(64)),  # null = it never had an owner
    Column("to_node", String(64), nullable=False),
    Column("reason", String(16), nullable=False),
    Column("offered", SmallInteger, nullable=False),  # 0 = nobody's when it was taken
    Column("waited_ms", BigInteger, nullable=False),
    Column("taker_came_later", SmallInteger, nullable=False),  # the taker joined after it was offered or abandoned
    Column("at", Instant, nullable=False),
    Index("ix_handoff_execution", "execution_id"),
)
