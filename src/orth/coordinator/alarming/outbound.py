"""Which addresses a channel may lead to: as everything that goes out (``orth.wire.outbound``), and not to this machine
unless the settings say so. Private networks are allowed, because that is where most receivers are.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from ssl import SSLContext, create_default_context

from orth.errors import Unavailable
from orth.wire.outbound import Network, Outbound


class NotDelivered(Unavailable):
    """The receiver did not take a message, as far as is known. The sentence never holds the URL: it is a secret."""

    kind = "not-delivered"


def channels_outbound(*, allow_local: bool, allow: Sequence[Network] = (), deny: Sequence[Network] = ()) -> Outbound:
    return Outbound(
        tuple(allow),
        tuple(deny),
        loopback=allow_local,
        loopback_setting="alarms.allow_local",
        allow_setting="alarms.outbound_allow",
    )


@cache  # reading them takes longer than sending a message
def trusted(ca_file: Path | None) -> SSLContext:
    """The system's certificates, and those of ``ca_file``."""
    context = create_default_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context
