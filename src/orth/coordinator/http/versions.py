"""``ETag`` and ``If-Match``: an edit names the version it was made to, and is refused when there is a newer one."""

from typing import Annotated

from fastapi import Header

from orth.errors import OrthError

IfMatch = Annotated[str | None, Header(max_length=200, description="The ETag of the version this change was made to.")]


class ChangedMeanwhile(OrthError):
    """The thing was changed since the caller read it."""

    status = 412
    kind = "changed-meanwhile"


def check_match(if_match: str | None, current: str, code: str = "changed_meanwhile", **facts: str) -> None:
    """Refuse unless ``current`` is among the tags in ``if_match``; no header and ``*`` mean any version."""
    if if_match is None:
        return
    named = {tag.strip() for tag in if_match.split(",")}
    if not named & {"*", current}:
        raise ChangedMeanwhile.of(code, etag=current, **facts)
