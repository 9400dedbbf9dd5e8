"""The terminal: the other screen buffer, one frame after the other drawn in place, and the keys.

The terminal is given back as it was, however the program leaves. Signals stay the terminal's business: Ctrl+C sends
SIGINT. A terminal that is gone ends the picture and nothing else.
"""

import asyncio
import io
import os
import sys
import termios
import tty
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from orth.apphost.viewing import Keyboard

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l"  # other buffer, no cursor, no wrapping
_LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_SMALLEST = (20, 4)


def is_terminal(environment: Mapping[str, str]) -> bool:
    """Whether a person sits at both ends, before a terminal that can be drawn on."""
    return sys.stdin.isatty() and sys.stdout.isatty() and environment.get("TERM", "dumb") != "dumb"


def silence(out: TextIO) -> None:
    """The terminal is gone, or whoever read this has left: what waits to be written, and all that follows, goes
    nowhere.
    """
    nothing = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nothing, out.fileno())
    os.close(nothing)


def say(text: str) -> None:
    """A line for the person, if there is still one."""
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except OSError:
        silence(sys.stdout)


class Screen:
    """A full-screen terminal; ``with`` it. ``on_key`` hears keys in the event loop."""

    def __init__(self, on_key: Callable[[str], None], out: TextIO | None = None) -> None:
        self._on_key = on_key
        self._out = out or sys.stdout
        self._in = sys.stdin.fileno()
        # Only encodes: it would touch what it writes to even while its output is captured.
        self._console = Console(
            file=io.StringIO(), force_terminal=True, highlight=False, markup=False, emoji=False, soft_wrap=True
        )
        self._keyboard = Keyboard()
        self._drawn: list[str] = []
        self._size = (0, 0)
        self._before: list[Any] = []

    def __enter__(self) -> "Screen":
        self._before = termios.tcgetattr(self._in)
        tty.setcbreak(self._in, termios.TCSADRAIN)
        ours = termios.tcgetattr(self._in)
        ours[6][termios.VSUSP] = b"\x00"  # Ctrl+Z would leave a frozen picture, and nobody who keeps the processes
        termios.tcsetattr(self._in, termios.TCSADRAIN, ours)
        self._write(_ENTER)
        asyncio.get_running_loop().add_reader(self._in, self._read)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        asyncio.get_running_loop().remove_reader(self._in)
        self._write(_LEAVE)
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(self._in, termios.TCSADRAIN, self._before)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines, now."""
        try:
            found = os.get_terminal_size(self._out.fileno())
        except OSError:
            return _SMALLEST
        return max(found.columns, _SMALLEST[0]), max(found.lines, _SMALLEST[1])

    def draw(self, frame: Sequence[Text]) -> None:
        """Show a frame, writing only the lines that changed; all of them after a change of size."""
        size = self.size
        if size != self._size:
            self._size, self._drawn = size, []
            self._write("\x1b[2J")
        lines = [self._encoded(line) for line in frame]
        changed = [i for i, line in enumerate(lines) if i >= len(self._drawn) or self._drawn[i] != line]
        self._drawn = lines
        if changed:
            self._write("".join(f"\x1b[{i + 1};1H\x1b[0m\x1b[2K{lines[i]}\x1b[0m" for i in changed))

    def forget(self) -> None:
        """Draw everything anew: somebody else may have written to the terminal."""
        self._size = (0, 0)

    def _encoded(self, line: Text) -> str:
        with self._console.capture() as capture:
            self._console.print(line, end="", no_wrap=True, crop=False, overflow="ignore")
        return capture.get()

    def _read(self) -> None:
        try:
            data = os.read(self._in, 1024)
        except OSError:
            data = b""
        if not data:  # the terminal is gone; SIGHUP says the rest
            asyncio.get_running_loop().remove_reader(self._in)
            return
        for key in self._keyboard.keys(data):
            if key == "redraw":
                self.forget()
            self._on_key(key)

    def _write(self, text: str) -> None:
        try:
            self._out.write(text)
            self._out.flush()
        except OSError:
            silence(self._out)
