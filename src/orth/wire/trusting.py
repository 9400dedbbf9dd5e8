"""Whom a client believes over TLS: this machine's authorities, and one more that it was told of."""

import ssl
from pathlib import Path


def trusting(ca_file: Path | None) -> ssl.SSLContext:
    """``ca_file`` holds the certificate of one more authority; one that cannot be read adds nobody."""
    context = ssl.create_default_context()
    if ca_file is not None:
        try:
            context.load_verify_locations(ca_file)
        except OSError:  # ssl.SSLError is one; who shows a certificate of it is refused, which is told
            return ssl.create_default_context()
    return context
