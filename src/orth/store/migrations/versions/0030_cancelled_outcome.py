"""What was cancelled before it began has an outcome of its own, so that lists of failures leave it out."""

from alembic import op

revision = "0030"
down_revision = "0029"

_CANCELLED = """
UPDATE orth_job_log SET outcome = 5
WHERE outcome IN (2, 3, 4) AND reason_code IN ('job_stopped', 'job_changed') AND start_time IS NULL
"""


def upgrade() -> None:
    op.execute(_CANCELLED)
