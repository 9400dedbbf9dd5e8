"""Where channels are kept that go through the database."""

from sqlalchemy import BigInteger, Column, Index, Integer, String

from orth.store.schema import BigId, Instant, LongText, table

# Messages of queues, until they are done.
queue_messages = table(
    "orth_queue_message",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("queue", String(255), nullable=False),
    Column("consumer", String(255)),  # who has it; nobody yet when null
    Column("take_id", String(16)),  # the one call by which it was taken
    Column("deliveries", Integer, nullable=False),
    Column("payload", LongText, nullable=False),
    Index("ix_queue_message", "queue", "consumer", "id"),
)

dead_messages = table(
    "orth_queue_dead",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("queue", String(255), nullable=False),
    Column("died_at", Instant, nullable=False),
    Column("payload", LongText, nullable=False),
    Index("ix_queue_dead", "queue", "id"),
    Index("ix_queue_dead_died", "died_at"),
)

# The head of a box: whoever appends holds it, so positions become visible in their order.
boxes = table(
    "orth_box",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("name", String(255), nullable=False, unique=True),
    Column("last_position", BigInteger, nullable=False),
    Column("entries", Integer, nullable=False),
    Column("grown_at", Instant, nullable=False),
    Index("ix_box_grown", "grown_at"),
)

box_entries = table(
    "orth_box_entry",
    Column("box_id", BigInteger, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("payload", LongText, nullable=False),
)

# What was said a moment ago, for databases that cannot wake anybody.
announcements = table(
    "orth_announcement",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("origin", String(64), nullable=False),
    Column("payload", LongText, nullable=False),
)
