"""What people may in single groups, and what they chose for themselves; what they may everywhere is the role in their
own row.
"""

from sqlalchemy import BigInteger, Column, Index, String

from orth.store.schema import Instant, LongText, table

user_grants = table(
    "orth_user_grant",
    Column("user_id", BigInteger, primary_key=True, autoincrement=False),
    Column("group_id", BigInteger, primary_key=True, autoincrement=False),
    Column("role", String(16), nullable=False),
    Index("ix_user_grant_group", "group_id"),
)

user_preferences = table(
    "orth_user_preference",
    Column("user_id", BigInteger, primary_key=True, autoincrement=False),
    Column("chosen", LongText, nullable=False),  # a JSON object; only the console knows what it means
    Column("update_time", Instant, nullable=False),
)
