"""Where the Registry API keeps who is there, and what has been told about it."""

from sqlalchemy import BigInteger, Column, Index, Integer, String, Text, UniqueConstraint, text

from orth.store.schema import Instant, table

services = table(
    "orth_service",
    Column("id", String(32), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("url", String(255), nullable=False),
    Column("incarnation", String(64)),
    Column("orchestrator_id", String(64)),  # of agents: as they say, whether or not it is registered
    Column("name", String(64)),
    Column("status", String(16), nullable=False),
    Column("failing", String(16)),  # what made it Failed: silence, health; null when it says so itself
    Column("failing_since", Instant),
    Column("status_before", String(16)),
    Column("registered_at", Instant, nullable=False),
    Column("last_heartbeat", Instant, nullable=False),
    Column("beats", BigInteger, nullable=False),
    Column("owner", String(64), nullable=False, server_default=text("''")),  # the app whose token registered it, if any
    UniqueConstraint("kind", "url", "owner", name="uq_service_url"),
    Index("ix_service_heartbeat", "last_heartbeat"),
)

service_events = table(
    "orth_service_event",
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("type", String(32), nullable=False),
    Column("data", Text, nullable=False),  # a JSON object: the service as it was then
    Column("at", Instant, nullable=False),
)

# One row: whoever tells something counts here, and holds it until the commit. So numbers become visible in their order.
service_heads = table(
    "orth_service_head",
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
)
