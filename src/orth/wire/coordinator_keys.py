"""What a coordinator proves itself with to a registry: a key that only coordinators of one database have.

The access token is no such thing, for executors may have it too. Executors tell every orchestrator that is listed their
tokens and work keys, so who is listed there has to be one.
"""

import hmac
from hashlib import sha256

from orth.wire.signatures import Key


def coordinator_key(secret: str) -> Key:
    """Made from the secret that the coordinators of a database share. Its name tells nothing about that."""
    made = hmac.digest(secret.encode(), b"orth coordinator key", "sha256")
    return Key(sha256(b"orth coordinator key id:" + made).hexdigest()[:16], made)
