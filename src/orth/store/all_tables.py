"""All tables together, for those who need every one of them: migrations and tests."""

from orth.store import channel_tables, record_tables, service_tables, tables
from orth.store.schema import metadata

__all__ = ["channel_tables", "metadata", "record_tables", "service_tables", "tables"]
