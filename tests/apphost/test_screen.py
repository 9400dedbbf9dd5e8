"""The terminal: what is drawn on it, and its end."""

import os
import pty
from collections.abc import Iterator

import pytest
from rich.text import Text

from orth.apphost.screen import Screen, say


class Window:
    """A terminal window, which a person may close."""

    def __init__(self) -> None:
        self._ours, theirs = pty.openpty()
        self.file = os.fdopen(theirs, "r+b", buffering=0)
        self.out = os.fdopen(os.dup(theirs), "w")

    def put_before(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """In the test itself: what is captured changes after the fixtures."""
        monkeypatch.setattr("sys.stdin", self.file)
        monkeypatch.setattr("sys.stdout", self.out)

    def seen(self, until: str) -> str:
        """What came, up to this."""
        text = ""
        while until not in text:
            text += os.read(self._ours, 100_000).decode()
        return text

    def close(self) -> None:
        os.close(self._ours)


@pytest.fixture
def window() -> Iterator[Window]:
    made = Window()
    yield made
    made.file.close()
    made.out.close()


async def test_a_closed_window_ends_the_picture_and_nothing_else(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.put_before(monkeypatch)
    with Screen(lambda _key: None) as screen:
        screen.draw([Text("first", style="red"), Text("second")])
        assert "first" in window.seen(until="second")
        window.close()
        for frame in ("third", "fourth", "fifth"):
            screen.draw([Text(frame, style="red")])
    say("farewell")


def test_a_farewell_to_nobody_is_no_fault(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    window.put_before(monkeypatch)
    window.close()
    say("farewell")
    say("and again")
