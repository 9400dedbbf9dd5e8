"""Tables for code that is edited centrally, besides the versions, which are in ``tables``."""

from sqlalchemy import BigInteger, Column, String

from orth.store.schema import Instant, LongText, table

# What a test runs: a source that is not the job's. The row goes with its execution.
script_drafts = table(
    "orth_script_draft",
    Column("execution_id", BigInteger, primary_key=True, autoincrement=False),
    Column("glue_type", String(50), nullable=False),
    Column("glue_source", LongText, nullable=False),
    Column("made_at", Instant, nullable=False),
)
