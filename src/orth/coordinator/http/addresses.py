"""Addresses that services give us to connect to.

What an address spells out is judged when it is given, so that people learn at once; what its name leads to is judged
again at every connection (``orth.wire.outbound``).
"""

from urllib.parse import urlsplit

from orth.errors import Invalid
from orth.settings.sections import SecuritySection
from orth.wire.outbound import AddressRefused, Outbound


def check_address(security: SecuritySection, address: str, field: str) -> None:
    """Refuse an address that would never be connected to."""
    outbound = Outbound(security.outbound_allow, security.outbound_deny, security.outbound_loopback)
    try:
        outbound.check_host(urlsplit(address).hostname or "")
    except AddressRefused as refused:
        raise Invalid(f"{refused}.", field=field) from None
