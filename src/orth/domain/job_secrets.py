"""Secrets of jobs: what they may be called, how long they may be, and who may get them."""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from orth.errors import Invalid, quotable

SECRET_NAME = "[A-Z][A-Z0-9_]{0,63}"  # noqa: S105  # what names look like
SECRET_SHORTEST = 4
"""Characters of a value: a shorter one could not be hidden in a log."""
SECRET_LONGEST = 16_384
SECRETS_LIMIT = 20
"""Secrets that one job may name."""
EVERY_GROUP = 0
"""Stands for the group of a secret that the jobs of all groups may name."""

_NAME = re.compile(SECRET_NAME)
_TAKEN_PREFIXES = ("ORTH_", "LD_", "PYTHON")
_TAKEN = frozenset({"PATH", "HOME", "USER", "SHELL", "IFS", "ENV", "BASH_ENV", "NODE_OPTIONS", "TMPDIR", "TZ", "LANG"})


def check_name(name: str) -> None:
    """``Invalid`` for what cannot be the name of a secret: scripts get it as a variable of that name."""
    if not _NAME.fullmatch(name):
        raise Invalid.of("secret_name", name=quotable(name, 80), field="name")
    if name.startswith(_TAKEN_PREFIXES) or name in _TAKEN:
        raise Invalid.of("secret_name_taken", name=name, field="name")


def check_value(value: str) -> None:
    if not SECRET_SHORTEST <= len(value) <= SECRET_LONGEST:
        raise Invalid.of("secret_length", shortest=SECRET_SHORTEST, longest=SECRET_LONGEST, field="value")
    if "\x00" in value:
        raise Invalid.of("secret_with_nul", field="value")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Invalid.of("secret_with_half_pair", field="value") from None


def travels_safely(address: str) -> bool:
    """Whether nobody on the way to ``address`` can read along: it is encrypted, or does not leave this machine."""
    parts = urlsplit(address)
    if parts.scheme == "https":
        return True
    host = parts.hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
