"""Indexes of executions without those that nobody looks for there; new executions stay out of the history's pages."""

from orth.store.migrations.steps import leave_room, make_partial

revision = "0014"
down_revision = "0013"

_POSTGRES = ("postgresql",)


def upgrade() -> None:
    make_partial("ix_log_batch", "orth_job_log", ["batch_id", "phase"], "batch_id IS NOT NULL")
    make_partial("ix_log_outcome", "orth_job_log", ["outcome", "id"], "outcome <> 1", on=_POSTGRES)
    make_partial("ix_log_job_outcome", "orth_job_log", ["job_id", "outcome", "id"], "outcome <> 1", on=_POSTGRES)
    make_partial("ix_log_address", "orth_job_log", ["executor_address", "id"], "executor_address IS NOT NULL")
    leave_room("orth_job_log", 90)
