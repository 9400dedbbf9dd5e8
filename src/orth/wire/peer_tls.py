"""TLS between coordinators and executors: each may show its certificate, and trust an authority of their own."""

import ssl

from orth.errors import CannotStart
from orth.settings.sections import SecuritySection


def peer_tls(security: SecuritySection) -> ssl.SSLContext | None:
    """For calls to peers; None where the defaults will do. Files that cannot be used are an error: a process that is
    set to show its certificate does not go on without.
    """
    certificate, key, authority = security.tls_certificate, security.tls_key, security.tls_client_ca
    if certificate is None and authority is None:
        return None
    context = ssl.create_default_context()
    try:
        if authority is not None:
            context.load_verify_locations(authority)
        if certificate is not None and key is not None:
            context.load_cert_chain(certificate, key)
    except OSError as error:
        raise CannotStart(
            f"TLS between coordinators and executors cannot be used: {error.strerror or error}.",
            hint="Correct security.tls_client_ca, tls_certificate and tls_key.",
        ) from None
    return context
