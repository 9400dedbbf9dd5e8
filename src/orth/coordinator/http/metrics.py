"""``GET /metrics``, and who may read it: whoever has the cluster's access token or is signed in and may see everything.

Nobody else, with one exception. A coordinator that listens on loopback alone is a small site on one machine, and a
scraper beside it needs no credential. It has to be beside it: a request that a proxy passed on, or that a browser was
talked into sending under another name, comes from somewhere else.
"""

import hmac
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request, Response

from orth.coordinator.http.callers import BearerHere, signed_in
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.metrics import CONTENT_TYPE
from orth.domain.access import Permission
from orth.errors import Unauthenticated
from orth.settings import Address
from orth.wire.dialects import token_from

router = APIRouter()

_UNKNOWN = ("needs_sign_in", "token_not_valid")
"""What a token is answered with that we never made. One that has expired or was revoked has an answer of its own."""
_PASSED_ON = ("forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto")


async def may_read(tools: ToolsHere, shown: BearerHere, request: Request) -> None:
    """Pass, or 401. A credential that was shown has to be good, wherever it comes from."""
    text = token_from(request.headers) if shown is None else shown.credentials.strip()
    if text is not None and hmac.compare_digest(text.encode(), tools.access_token.encode()):
        return
    if not _shows_something(request) and _is_beside_us(tools, request):
        return
    try:
        caller = await signed_in(tools, request, shown)
    except Unauthenticated as refused:
        if text is not None and refused.code in _UNKNOWN:
            raise Unauthenticated.of("metrics_token_wrong") from None
        raise
    caller.check(Permission.VIEW, None, "", "")


@router.get("/metrics", include_in_schema=False)
async def metrics(tools: ToolsHere, _allowed: Annotated[None, Depends(may_read)]) -> Response:
    """Everything monitoring may know, in the text format of Prometheus."""
    return Response(await tools.metrics.text(), media_type=CONTENT_TYPE)


def _shows_something(request: Request) -> bool:
    return "authorization" in request.headers or token_from(request.headers) is not None


def _is_beside_us(tools: Tools, request: Request) -> bool:
    """Whether it comes from this machine, and nothing says that it only passed through it."""
    return (
        tools.settings.coordinator.listen.is_loopback
        and request.client is not None
        and _is_loopback(request.client.host)
        and _is_loopback(_name_in(request.headers.get("host", "")))
        and not any(name in request.headers for name in _PASSED_ON)
    )


def _name_in(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    return Address(host, 0).is_loopback
