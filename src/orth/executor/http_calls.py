"""``orth.http``: a handler that makes one HTTP request, for jobs that need no code here.

Off until this executor's settings allow it: whoever may edit a job could then reach whatever this machine can. The
parameter is JSON with ``url`` and perhaps ``method``, ``headers``, ``body`` (text, or anything that is sent as JSON),
``expect`` (the statuses that mean success; any 2xx unless said) and ``timeout`` in seconds. Redirects are not followed
and nothing is tried again: the job's own retries do that. The answer goes to the log, cut.
"""

import json
from typing import Annotated, Any, Literal

import urllib3
from pydantic import Field

from orth.executor.context import JobContext, JobFailed

NAME = "orth.http"
SHOWN_BYTES = 64 * 1024
_JSON = {"content-type": "application/json"}

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
Status = Annotated[int, Field(ge=100, le=599)]


def http(
    ctx: JobContext,
    url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")],
    method: Method = "GET",
    headers: dict[str, str] | None = None,
    body: Any = None,
    expect: list[Status] | None = None,
    timeout: Annotated[float, Field(gt=0)] = 30.0,
) -> str:
    """Make an HTTP request."""
    data, sent = _encoded(body, headers or {})
    limit = urllib3.Timeout(total=timeout if (left := ctx.remaining()) is None else min(timeout, left or timeout))
    with urllib3.PoolManager() as pool:
        try:
            answer = pool.request(
                method,
                url,
                body=data,
                headers=sent,
                redirect=False,
                retries=False,
                timeout=limit,
                preload_content=False,
            )
            shown = answer.read(SHOWN_BYTES + 1)
        except (urllib3.exceptions.HTTPError, UnicodeError, ValueError) as error:
            raise JobFailed(f"{method} {url} failed: {error}") from None
        answer.close()
    ctx.log("{} {} answered {}", method, url, answer.status)
    if shown:
        cut = f"\n… only the first {SHOWN_BYTES} bytes are shown" if len(shown) > SHOWN_BYTES else ""
        ctx.log("{}", shown[:SHOWN_BYTES].decode("utf-8", "replace") + cut)
    if answer.status not in (expect or range(200, 300)):
        raise JobFailed(f"{method} {url} answered {answer.status}.")
    return str(answer.status)


def _encoded(body: Any, headers: dict[str, str]) -> tuple[bytes | None, dict[str, str]]:
    if body is None:
        return None, headers
    if isinstance(body, str):
        return body.encode(), headers
    named = {name.lower() for name in headers}
    return json.dumps(body).encode(), headers if "content-type" in named else {**headers, **_JSON}
