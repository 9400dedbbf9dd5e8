"""Messages as text. Every backend stores this text, so that what fits one of them fits all of them."""

import json
from collections.abc import Iterable

from orth.channels.interface import START, Message
from orth.channels.limits import LONGEST_NAME
from orth.errors import Invalid, InvalidMessage, TooLarge

RESERVED = "("
_DIGITS = 18  # more would not fit the databases' numbers


def pack(message: Message, limit: int) -> str:
    """``message`` as JSON in ASCII, which no database, wire or cut spoils; ``TooLarge`` above ``limit`` bytes."""
    try:
        text = json.dumps(message, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Invalid(f"A message for a channel cannot be written as JSON: {error}.") from None
    if len(text) > limit:
        raise TooLarge(f"A message for a channel has {len(text)} bytes; {limit} are allowed.")
    return text


def unpack(text: str) -> Message | None:
    """The message that ``text`` is; None when it is none, which only a foreign hand can have written."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def unreadable(text: str) -> Message:
    """What becomes of text that is no message: somebody may want to see it among the dead letters."""
    return {"unreadable": text}


def check_names(names: Iterable[str]) -> None:
    """``Invalid`` when one of them is no name: too long, not printable (PostgreSQL would not store it), or with spaces
    at its ends (MariaDB does not see them).
    """
    for name in names:
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable() or name != name.strip():
            raise Invalid(
                f"A channel cannot be called {name[:300]!r}: a name has 1 to {LONGEST_NAME} printable characters "
                "and no spaces around them."
            )


def check_consumer(name: str) -> None:
    """``Invalid`` when nobody may take under this name: consumers have names like channels, and those that begin with
    a bracket are the backends' own.
    """
    check_names([name])
    if name.startswith(RESERVED):
        raise Invalid(f"A consumer cannot be called {name!r}: names that begin with {RESERVED!r} are reserved.")


def as_number(text: str) -> int | None:
    """The number that an id or position of ours is; None when it is not one of ours."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else None


def position_of(text: str) -> int:
    """A position as a number, 0 for the start."""
    number = 0 if text == START else as_number(text)
    if number is None:
        raise no_position(text)
    return number


def no_position(text: str) -> InvalidMessage:
    """What whoever reads from there is told."""
    return InvalidMessage(
        f"{text[:50]!r} is not a position in a box.",
        hint="Read on from the position of an entry, or from the start with an empty one.",
        field="after",
    )
