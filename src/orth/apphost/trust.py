"""Requests of ``orth up`` itself to what it started, with or without TLS."""

import urllib3

from orth.wire.bounded_http import bounded_pool

_TIMEOUT = 2.0
_AT_ONCE = 8


class Web:
    """One pool of connections; ``ca_file`` is whom it trusts when addresses begin with https."""

    def __init__(self, ca_file: str | None) -> None:
        self.pool = bounded_pool(retries=False, maxsize=_AT_ONCE)
        if ca_file is not None:
            self.pool.connection_pool_kw["ca_certs"] = ca_file

    def answers(self, url: str) -> bool:
        """Whether somebody answers 200 there."""
        try:
            return self.pool.request("GET", url, timeout=_TIMEOUT).status == 200
        except urllib3.exceptions.HTTPError:
            return False
