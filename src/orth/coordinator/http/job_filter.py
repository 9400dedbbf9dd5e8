"""Which jobs a caller means, as written in a query string."""

from typing import Annotated

from fastapi import Depends, Query

from orth.coordinator.http.job_body import Tag
from orth.coordinator.http.texts import Line
from orth.domain.jobs import TAGS_LIMIT
from orth.store.job_board import Only, Wanted

_TEXT_LIMIT = 200
_IDS = 200


def jobs_asked(
    job_group: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    text: Annotated[
        Line | None, Query(max_length=_TEXT_LIMIT, description="In name, handler, author or tags; or an id.")
    ] = None,
    author: Annotated[Line | None, Query(max_length=64, description="Who answers for it, exactly as written.")] = None,
    tag: Annotated[
        list[Tag] | None, Query(max_length=TAGS_LIMIT, description="A tag it has; given again: all of them.")
    ] = None,
    job_id: Annotated[
        list[Annotated[int, Query(ge=1, le=2**31 - 1)]] | None,
        Query(alias="id", max_length=_IDS, description="One of these; given again for each."),
    ] = None,
    only: Annotated[
        Only | None,
        Query(
            description="failing: the last end was no success; paused: not started; never_ran; no_executor; "
            "no_handler: its executors say what they offer, and its handler is not among it."
        ),
    ] = None,
) -> Wanted:
    """What is asked for, whoever asks: ``Wanted.within`` keeps it to what the caller may see."""
    return Wanted(
        job_group=job_group,
        text=text or None,
        author=author or None,
        tags=tuple(dict.fromkeys(tag or ())),
        ids=frozenset(job_id or ()),
        only=only,
    )


JobsAsked = Annotated[Wanted, Depends(jobs_asked)]
