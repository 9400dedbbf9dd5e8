"""Pages of which sites may open sockets and streams here, sign in, and change things with a browser's cookie.

A browser lets any page ask for that, and only says which page it was. Callers that are no browsers say nothing, and
have a credential to show all the same.

A page that came without TLS can have been changed on its way: where the browser speaks TLS to us, or to the proxy in
front, such a page of our own name is another site's.
"""

from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from orth.coordinator.http.client_addresses import is_secure
from orth.errors import Forbidden
from orth.settings import Settings

_PORTS = {"http": 80, "https": 443}


def check_origin(connection: HTTPConnection, settings: Settings) -> None:
    """Refuse pages of other sites than our own, the console's and those that are set."""
    origin = connection.headers.get("origin")
    if origin is None:
        if connection.headers.get("sec-fetch-site", "").strip().lower() == "cross-site":
            raise _of_another_site()
        return
    listed = (settings.console.base_url or "", *settings.console.origins, *_here(connection, settings))
    if _normal(origin) not in {_normal(one) for one in listed} - {None}:
        raise _of_another_site()


def _here(connection: HTTPConnection, settings: Settings) -> list[str]:
    """Under which origins the pages are that come from here. A proxy that we do not know of may speak TLS to the
    browser, and none to us.
    """
    host = connection.headers.get("host", "")
    return [f"https://{host}"] if is_secure(connection, settings) else [f"https://{host}", f"http://{host}"]


def _of_another_site() -> Forbidden:
    return Forbidden.of("other_origin")


def _normal(url: str) -> str | None:
    """The origin of a URL as browsers write it: without the port that its scheme has anyway."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # anybody may write anything there
        return None
    host = parts.netloc.lower()
    if port is not None and port == _PORTS.get(parts.scheme):
        host = host.removesuffix(f":{port}")
    return f"{parts.scheme}://{host}" if parts.scheme and host else None
