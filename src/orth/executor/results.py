"""A result as an executor keeps it: what it reports, and of which job."""

from orth.wire.fields import JobId
from orth.wire.messages import CallbackItem


class Result(CallbackItem):
    """How one execution of one job ended. Coordinators are not told the job: they know it by the execution."""

    job_id: JobId = 0
    """0 in records of a time when it was not kept."""
