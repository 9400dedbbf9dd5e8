"""Which executions a caller means, as written in a query string."""

from typing import Annotated

from fastapi import Depends, Query
from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticKnownError

from orth.coordinator.http.instants import instant
from orth.coordinator.http.texts import Prose
from orth.coordinator.http.tools import ToolsHere
from orth.domain.executions import OUTCOMES, ListedStatus
from orth.domain.jobs import TriggerCause
from orth.errors import Invalid
from orth.store.execution_filters import Filter

TEXT_LIMIT = 200

_Id = Annotated[int | None, Query(ge=1, le=2**31 - 1)]


def _encodable(text: str) -> str:
    text.encode()  # half a surrogate pair is no text anywhere; its error is a ValueError
    return text


_Text = Annotated[Prose, AfterValidator(_encodable)]


def _listed(given: list[str]) -> list[str]:
    """The statuses of a parameter that lists them, or is given again for each; what is none is refused as one is."""
    statuses = [one for values in given for one in values.split(",")]
    if not all(one in OUTCOMES for one in statuses):
        raise PydanticKnownError("enum", {"expected": ", ".join(f"'{one}'" for one in OUTCOMES)})
    return statuses


_Statuses = Annotated[
    list[ListedStatus] | None,
    BeforeValidator(_listed),
    Query(
        description="One of these; several, with commas between them or given again for each: any of them. cancelled: "
        "taken back before it began, because its job was stopped or changed; no other status finds that."
    ),
]


def filter_asked(
    tools: ToolsHere,
    job_id: _Id = None,
    job_group: _Id = None,
    status: _Statuses = None,
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
        statuses=None if status is None else frozenset(status),
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
