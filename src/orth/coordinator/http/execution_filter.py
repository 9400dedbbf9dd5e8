"""Which executions a caller means, as written in a query string."""

from typing import Annotated

from fastapi import Depends, Query
from pydantic import AfterValidator

from orth.coordinator.http.instants import instant
from orth.coordinator.http.texts import Prose
from orth.coordinator.http.tools import ToolsHere
from orth.domain.executions import Status
from orth.domain.jobs import TriggerCause
from orth.errors import Invalid
from orth.store.execution_filters import Filter

TEXT_LIMIT = 200

_Id = Annotated[int | None, Query(ge=1, le=2**31 - 1)]


def _encodable(text: str) -> str:
    text.encode()  # half a surrogate pair is no text anywhere; its error is a ValueError
    return text


_Text = Annotated[Prose, AfterValidator(_encodable)]


def filter_asked(
    tools: ToolsHere,
    job_id: _Id = None,
    job_group: _Id = None,
    status: Status | None = None,
    executor: Annotated[
        _Text | None, Query(min_length=1, max_length=255, description="The executor's address.")
    ] = None,
    cause: TriggerCause | None = None,
    batch_id: _Id = None,
    since: Annotated[
        str | None,
        Query(max_length=40, description="Opened at this instant (RFC 3339) or later; or an age such as 2h."),
    ] = None,
    until: Annotated[str | None, Query(max_length=40, description="Opened before this instant, or age.")] = None,
    text: Annotated[
        _Text | None,
        Query(min_length=1, max_length=TEXT_LIMIT, description="Part of a message or of the parameter, in any case."),
    ] = None,
    ended_since: Annotated[
        str | None, Query(max_length=40, description="Ended at this instant or later, or no longer ago than this age.")
    ] = None,
) -> Filter:
    now = tools.clock.now()
    wanted = Filter(
        job_id=job_id,
        job_group=job_group,
        status=status,
        executor=executor,
        cause=cause,
        batch_id=batch_id,
        since=None if since is None else instant(since, now, "since"),
        until=None if until is None else instant(until, now, "until"),
        text=text,
        ended_since=None if ended_since is None else instant(ended_since, now, "ended_since"),
    )
    if wanted.since is not None and wanted.until is not None and wanted.since >= wanted.until:
        raise Invalid.of("since_after_until", field="since")
    return wanted


FilterAsked = Annotated[Filter, Depends(filter_asked)]
