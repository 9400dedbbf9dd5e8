# ruff: noqa: N802, N815 - the spellings of Java are what this module is for
"""The spellings of Java, for handlers that are ported: ``OrthJobHelper.getJobParam()``, ``OrthJobHelper.log("…")``.

Everything means what it means in ``orth.helper``, and outside a job has the same defaults. New code uses
``orth.helper`` or the ``JobContext`` it is handed.
"""

from datetime import datetime

from orth import helper
from orth.domain.executions import SUCCESS
from orth.executor.context import JobContext, current


class OrthJobHelper:
    """``orth.helper`` under its old names."""

    getJobId = staticmethod(helper.get_job_id)
    getJobParam = staticmethod(helper.get_job_param)
    getLogId = staticmethod(helper.get_log_id)
    getLogDateTime = staticmethod(helper.get_log_date_time)
    getLogFileName = staticmethod(helper.get_log_file_name)
    getJobLogFileName = staticmethod(helper.get_log_file_name)
    getScheduleTime = staticmethod(helper.get_schedule_time)
    getShardIndex = staticmethod(helper.get_shard_index)
    getShardTotal = staticmethod(helper.get_shard_total)
    log = staticmethod(helper.log)
    handleSuccess = staticmethod(helper.handle_success)
    handleFail = staticmethod(helper.handle_fail)
    handleTimeout = staticmethod(helper.handle_timeout)
    handleResult = staticmethod(helper.handle_result)


class OrthJobContext:
    """The current ``JobContext`` behind its old getters."""

    def __init__(self, context: JobContext) -> None:
        self._context = context

    @staticmethod
    def getOrthJobContext() -> "OrthJobContext | None":
        """The execution being carried out here; ``None`` outside a job."""
        context = current()
        return OrthJobContext(context) if context is not None else None

    def getJobId(self) -> int:
        return self._context.job_id

    def getJobParam(self) -> str:
        return self._context.param

    def getLogId(self) -> int:
        return self._context.log_id

    def getLogDateTime(self) -> int:
        return self._context.log_time

    def getLogFileName(self) -> str:
        return self._context.log_file

    def getJobLogFileName(self) -> str:
        return self._context.log_file

    def getScheduleTime(self) -> datetime | None:
        return self._context.schedule_time

    def getShardIndex(self) -> int:
        return self._context.shard_index

    def getShardTotal(self) -> int:
        return self._context.shard_total

    def getHandleCode(self) -> int:
        """As decided so far; success unless something else was."""
        return self._context.decided.code if self._context.decided else SUCCESS

    def getHandleMsg(self) -> str | None:
        return self._context.decided.message if self._context.decided else None

    def setHandleCode(self, code: int) -> None:
        self._context.result(code, self.getHandleMsg() or "")

    def setHandleMsg(self, message: str) -> None:
        self._context.result(self.getHandleCode(), message)
