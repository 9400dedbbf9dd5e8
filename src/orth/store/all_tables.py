"""All tables together, for those who need every one of them: migrations and tests."""

from orth.store import (
    access_tables,
    audit_tables,
    channel_tables,
    history_tables,
    record_tables,
    script_tables,
    service_tables,
    sign_in_tables,
    tables,
    token_tables,
)
from orth.store.schema import metadata

__all__ = [
    "access_tables",
    "audit_tables",
    "channel_tables",
    "history_tables",
    "metadata",
    "record_tables",
    "script_tables",
    "service_tables",
    "sign_in_tables",
    "tables",
    "token_tables",
]
