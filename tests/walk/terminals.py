"""A real terminal for a command: a tmux server of its own, its screen read as text."""

import os
import subprocess
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.walk.processes import eventually


class Terminal:
    """One window with one command. Leaving it ends the tmux server, which ends the command."""

    def __init__(self, tmux: Path, command: str, cwd: Path, *, width: int = 80, height: int = 24) -> None:
        self._tmux = [str(tmux), "-L", f"orth-{uuid.uuid4().hex}", "-f", os.devnull]
        self._do("new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(cwd), command, env=_environment())

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_error: object) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)

    def screen(self) -> list[str]:
        """What a person sees, line by line."""
        return self._do("capture-pane", "-p").splitlines()

    def press(self, *keys: str) -> None:
        self._do("send-keys", *keys)

    def resize(self, width: int, height: int) -> None:
        self._do("resize-window", "-x", str(width), "-y", str(height))

    def wait(self, holds: Callable[[list[str]], object], what: str, within: float = 60.0) -> list[str]:
        """The first screen of which something holds."""

        def look() -> list[str] | None:
            self.last = self.screen()
            return self.last if holds(self.last) else None

        try:
            return eventually(look, within=within, what=what)
        except AssertionError as late:
            raise AssertionError(f"{late}; the screen:\n" + "\n".join(self.last)) from None

    def _do(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        return subprocess.run([*self._tmux, *arguments], env=env, capture_output=True, text=True, check=True).stdout


def _environment() -> dict[str, str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("ORTH_", "TMUX"))}
    return {**clean, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}


def row(screen: list[str], name: str) -> str:
    """The row of a resource in the table; empty if there is none."""
    table = screen[: next((i for i, line in enumerate(screen) if line.startswith("──")), len(screen))]
    return next((line for line in table if line[2:].split(" ")[0] == name), "")


def leader(screen: list[str]) -> str | None:
    """Who is marked as leading."""
    return next((line[2:].split(" ")[0] for line in screen if "★ Running" in line), None)


def family(pid: int) -> dict[int, tuple[int, int]]:
    """A process and everything below it: pid → its process group and session."""
    facts: dict[int, tuple[int, int, int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            try:
                told = (path / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if told[0] not in "ZX":
                facts[int(path.name)] = (int(told[1]), int(told[2]), int(told[3]))
    found, ahead = {}, [pid]
    while ahead:
        one = ahead.pop()
        if one in facts:
            found[one] = facts[one][1:]
        ahead += [child for child, (parent, _, _) in facts.items() if parent == one]
    return found


def left_of(before: dict[int, tuple[int, int]]) -> list[int]:
    """Which processes of a family still live, and who else lives in its process groups and sessions."""
    groups = {group for group, _ in before.values()}
    sessions = {session for _, session in before.values()}
    left = []
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            try:
                told = (path / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            mine = int(path.name) in before or int(told[2]) in groups or int(told[3]) in sessions
            if mine and told[0] not in "ZX":
                left.append(int(path.name))
    return left
