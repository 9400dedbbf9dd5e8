"""Which app names a group can have.

An executor may register under any name that can be stored: it may be of another make, and turning it away would only
hide it. A group is made by people, and its name stands in addresses, commands and settings.
"""

from orth.errors import InvalidValue
from orth.sayings import SAYINGS

SHORTEST = 4
LONGEST = 64
RENAME = SAYINGS["adopt_characters"][1]
"""What to do about executors whose name no group can have."""


def trouble_with(app_name: str) -> InvalidValue | None:
    """What keeps a group from having this name; None when nothing does."""
    if not all(c.isascii() and (c.isalnum() or c in "-_.") for c in app_name):
        return InvalidValue.of("app_name_characters")
    if not SHORTEST <= len(app_name) <= LONGEST:
        return InvalidValue.of("app_name_length", shortest=SHORTEST, longest=LONGEST, length=len(app_name))
    return None
