"""No text with a NUL, or with half of a surrogate pair, gets to a database: neither to be stored nor to be looked for.

PostgreSQL knows no NUL in a text, and half of a pair cannot be sent to any server; SQLite and MariaDB take a NUL. What
people and programs send is looked at where it comes in. This is the last door: whatever got so far is refused as what
it is, wrong input, on every database alike, and before anything was sent, so that the transaction can go on.
"""

from typing import Any

from sqlalchemy import Connection, Engine, event

from orth.errors import Invalid

_NESTED = frozenset({dict, list, tuple})


def refuse_unstorable(engine: Engine) -> None:
    """Let ``engine`` send no such text: ``Invalid`` instead."""

    @event.listens_for(engine, "before_cursor_execute")
    def look(
        _connection: Connection, _cursor: Any, _statement: str, parameters: Any, _context: Any, _many: bool
    ) -> None:
        if parameters and not is_storable(parameters):
            raise Invalid.of("text_unstorable")


def is_storable(parameters: Any) -> bool:
    """Whether every text of a statement's parameters can be stored, in lists and rows of them, too."""
    nested = [parameters]
    for some in nested:  # which grows meanwhile: this is done for every statement, and a call for each value costs
        for value in some.values() if isinstance(some, dict) else some:
            if isinstance(value, str):
                if "\x00" in value or not (value.isascii() or _can_be_sent(value)):
                    return False
            elif type(value) in _NESTED:
                nested.append(value)
    return True


def _can_be_sent(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
