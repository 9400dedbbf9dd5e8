"""The console at ``/``: the files that ``make console`` built, and one page for every address inside it.

Files have names that change with their content, so browsers keep them for ever. The page is made for each request: it
carries a fresh nonce for the styles that the interface writes while it runs (``style-src``), and a relative ``<base>``
that leads from the address asked for back to the root. So the console works under any path prefix of a proxy, without
being told which: as many steps up as the address has, seen from here, are as many as it has seen from the browser. But
for the prefix alone, without a slash behind it, which is seen as ``/`` here: there ``console.base_url`` says it, to who
asked for its host.

What the page may do is said in its Content-Security-Policy: nothing from elsewhere, no script that is not a file.
"""

import gzip
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from orth.distribution import console_remedy

INDEX = "index.html"
NONCE = "__ORTH_NONCE__"
BASE = '<base href="./">'

_NOT_OURS = ("/api/", "/ws", "/health/", "/metrics", "/xxl-job-admin/", "/orth-admin/")
_FOREVER = "public, max-age=31536000, immutable"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_WORTH_PACKING = 1000
_NO_CONSOLE = f"""<!doctype html><html lang="en"><head><meta charset="utf-8">{BASE}<title>Orth</title></head>
<body><h1>There is no console here</h1><p>{console_remedy()}, and start this coordinator again.
The API works without it: see <code>/api/openapi.json</code>.</p></body></html>"""


@dataclass(frozen=True)
class Asset:
    """A file as it is sent."""

    media_type: str
    content: bytes

    @cached_property
    def packed(self) -> bytes | None:
        """The same as gzip, where that is smaller: made when first asked for, so that no start waits for it."""
        packed = gzip.compress(self.content, 9, mtime=0) if len(self.content) >= _WORTH_PACKING else None
        return packed if packed and len(packed) < len(self.content) else None


def read_assets(folder: Path) -> Mapping[str, Asset]:
    """Every file of a built console, by its path in there. They are few and small, and read once."""
    if not folder.is_dir():
        return {}
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix in _TYPES)
    return {path.relative_to(folder).as_posix(): Asset(_TYPES[path.suffix], path.read_bytes()) for path in found}


class ConsoleFiles:
    """Answers what no route does, where a browser asks for a page or a file; ``otherwise`` answers the rest."""

    def __init__(self, otherwise: ASGIApp, folder: Path, base_url: str | None = None) -> None:
        self._otherwise = otherwise
        self._assets = read_assets(folder)
        self._known_as = urlsplit(base_url or "")
        self._prefix = quote(self._known_as.path.rstrip("/"), safe="/%@:!$&()*+,;=~")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._answer(Request(scope)) if scope["type"] == "http" else None
        await (answer or self._otherwise)(scope, receive, send)

    def _answer(self, request: Request) -> Response | None:
        path = request.url.path
        if request.method not in ("GET", "HEAD") or f"{path}/".startswith(_NOT_OURS):
            return None
        asset = self._assets.get(path.lstrip("/"))
        if asset is not None and path != f"/{INDEX}":
            return _file(asset, path, request.headers.get("accept-encoding", ""))
        if "text/html" in request.headers.get("accept", "") or path == "/":
            return self._page(self._root_for(request))
        return None

    def _root_for(self, request: Request) -> str:
        path = as_asked(request.scope)
        is_known = self._prefix and _host(request.headers.get("host", "")) == _host(self._known_as.netloc)
        return f"{self._prefix}/" if path == "/" and is_known else way_up(path)

    def _page(self, root: str) -> Response:
        index = self._assets.get(INDEX)
        nonce = secrets.token_urlsafe(16)
        text = index.content.decode() if index else _NO_CONSOLE
        text = text.replace(BASE, f'<base href="{root}">').replace(NONCE, nonce)
        headers = {"Cache-Control": "no-store", **page_headers(nonce)}
        return HTMLResponse(text, status_code=200 if index else 503, headers=headers)


def _host(netloc: str) -> str:
    """Without the port that every browser leaves out."""
    return re.sub(r":(80|443)$", "", netloc.lower())


def as_asked(scope: Scope) -> str:
    """The path as the browser sees it: a slash written as ``%2F`` is no step there."""
    raw: bytes | None = scope.get("raw_path")
    return scope["path"] if raw is None else raw.partition(b"?")[0].decode("ascii", "replace")


def way_up(path: str) -> str:
    """The relative address of the root, seen from ``path``."""
    return "../" * (path.count("/") - 1) or "./"


def page_headers(nonce: str) -> dict[str, str]:
    """What a page may load and who may frame it."""
    policy = {
        "default-src": "'self'",
        "script-src": "'self'",
        "style-src": f"'self' 'nonce-{nonce}'",
        "img-src": "'self' data:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "X-Frame-Options": "DENY",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    }


def _file(asset: Asset, path: str, accepted: str) -> Response:
    named_by_content = path.startswith("/assets/")
    headers = {
        "Cache-Control": _FOREVER if named_by_content else "no-cache",
        "X-Content-Type-Options": "nosniff",
        "Vary": "Accept-Encoding",
    }
    if "gzip" in accepted and asset.packed is not None:
        return Response(asset.packed, media_type=asset.media_type, headers={**headers, "Content-Encoding": "gzip"})
    return Response(asset.content, media_type=asset.media_type, headers=headers)
