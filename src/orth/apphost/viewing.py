"""What a person looks at and what their keys do: a pure step from one view to the next, and perhaps a wish.

A view knows which row is chosen, whose lines are shown and how they are filtered. Keys that act on a process become a
``Wish``, carried out by whoever holds the processes: this one, or another ``orth up`` that is watched through its
socket.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

_LONGEST_FILTER = 80
_ESCAPE_KEYS = {b"[A": "up", b"OA": "up", b"[B": "down", b"OB": "down"}
_BYTES = {0x0D: "enter", 0x0A: "enter", 0x7F: "backspace", 0x08: "backspace", 0x0C: "redraw"}


class Do(StrEnum):
    """What a person may ask for."""

    RESTART = "restart"
    STOP_OR_START = "stop-or-start"
    START = "start"
    STOP = "stop"
    DRAIN = "drain"
    KILL = "kill"
    TRIGGER = "trigger"
    OPEN = "open"
    QUIT = "quit"


@dataclass(frozen=True, slots=True)
class Wish:
    """Something to be done, to ``name`` where it is about one process."""

    do: Do
    name: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """What is looked at. ``only`` shows the lines of one process; ``typing`` is while a filter is written."""

    chosen: int = 0
    only: str | None = None
    filter: str = ""
    typing: bool = False
    cleared_at: int = 0
    """Lines up to this number are not shown."""
    notice: str = ""


_WISHES = {
    "r": Do.RESTART,
    "s": Do.STOP_OR_START,
    "d": Do.DRAIN,
    "K": Do.KILL,
    "t": Do.TRIGGER,
    "o": Do.OPEN,
    "q": Do.QUIT,
}
HELP = (
    ("↑↓", "select"),
    ("Enter", "its logs"),
    ("a", "all"),
    ("/", "filter"),
    ("r", "restart"),
    ("s", "stop/start"),
    ("d", "drain"),
    ("K", "kill -9"),
    ("t", "trigger"),
    ("o", "open"),
    ("c", "clear"),
    ("q", "quit"),
)


def step(view: View, key: str, names: Sequence[str], lines: int) -> tuple[View, Wish | None]:
    """The view after ``key``, and what the key asks for. ``lines`` have come so far."""
    view = replace(view, notice="", chosen=min(view.chosen, max(0, len(names) - 1)))
    if view.typing:
        return _typed(view, key), None
    if key in ("up", "k"):
        return replace(view, chosen=max(0, view.chosen - 1)), None
    if key in ("down", "j"):
        return replace(view, chosen=min(max(0, len(names) - 1), view.chosen + 1)), None
    if key == "enter" and names:
        return replace(view, only=names[view.chosen]), None
    if key == "a":
        return replace(view, only=None, filter=""), None
    if key == "escape":
        return replace(view, only=None, filter=""), None
    if key == "/":
        return replace(view, typing=True), None
    if key == "c":
        return replace(view, cleared_at=lines), None
    if key in _WISHES:
        return view, Wish(_WISHES[key], names[view.chosen] if names else "")
    return view, None


def _typed(view: View, key: str) -> View:
    if key == "enter":
        return replace(view, typing=False)
    if key == "escape":
        return replace(view, typing=False, filter="")
    if key == "backspace":
        return replace(view, filter=view.filter[:-1])
    if len(key) == 1 and key.isprintable() and len(view.filter) < _LONGEST_FILTER:
        return replace(view, filter=view.filter + key)
    return view


class Keyboard:
    """Keys out of the bytes a terminal sends. What is not finished waits for the rest."""

    def __init__(self) -> None:
        self._rest = b""

    def keys(self, data: bytes) -> list[str]:
        data, self._rest = self._rest + data, b""
        found: list[str] = []
        while data:
            key, data = self._next(data)
            if key is not None:
                found.append(key)
        return found

    def _next(self, data: bytes) -> tuple[str | None, bytes]:
        if data[0] == 0x1B:
            return self._after_escape(data)
        if data[0] < 0x20 or data[0] == 0x7F:
            return _BYTES.get(data[0]), data[1:]
        length = 1 if data[0] < 0x80 else 2 if data[0] < 0xE0 else 3 if data[0] < 0xF0 else 4
        if len(data) < length:
            self._rest = data
            return None, b""
        try:
            return data[:length].decode(), data[length:]
        except UnicodeDecodeError:
            return None, data[1:]

    def _after_escape(self, data: bytes) -> tuple[str | None, bytes]:
        if len(data) == 1 or data[1] not in b"[O":
            return "escape", data[1:]
        end = next((i for i in range(2, len(data)) if 0x40 <= data[i] <= 0x7E), None)
        if end is None:
            self._rest = data if len(data) < 16 else b""
            return None, b""
        return _ESCAPE_KEYS.get(data[1 : end + 1]), data[end + 1 :]
