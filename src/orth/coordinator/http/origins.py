"""Pages of which sites may open sockets here, sign in, and change things with a browser's cookie.

A browser lets any page ask for that, and only says which page it was. Callers that are no browsers say nothing, and
have a credential to show all the same.
"""

from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from orth.errors import Forbidden
from orth.settings import Settings


def check_origin(connection: HTTPConnection, settings: Settings) -> None:
    """Refuse pages of other sites than our own, the console's and those that are set."""
    origin = connection.headers.get("origin")
    if origin is None:
        return
    console = settings.console
    listed = {url.lower() for url in console.origins}
    # Our own are known by their host alone: a proxy in front may speak TLS to the browser, and none to us.
    own = {connection.headers.get("host", "").lower(), _netloc(console.base_url or "")} - {"", None}
    if _netloc(origin) not in own and origin.lower() not in listed:
        raise Forbidden(
            "This page may not do that here: it is of another origin.", hint="Add its origin to console.origins."
        )


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:  # anybody may write anything there
        return None
