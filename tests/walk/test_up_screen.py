"""``orth up`` before a person: the screen of a real terminal, read while it runs, is killed, drains and ends."""

import json
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers.processes import alive
from tests.walk.processes import eventually
from tests.walk.terminals import Terminal, family, leader, left_of, row

AGENTS = ("agent-1", "agent-2", "agent-3")
NODES = ("coordinator-1", "coordinator-2")
UP = f"{shlex.quote(sys.executable)} -m orth up"


@pytest.fixture
def tmux(installed: Callable[[str], Path]) -> Path:
    return installed("tmux")


def keeper(folder: Path) -> int:
    """The pid of the ``orth up`` of a folder."""
    file = folder / ".orth" / "up.json"
    eventually(file.exists, what="the state file")
    return int(json.loads(file.read_text())["pid"])


def all_up(screen: list[str]) -> bool:
    services = all("● Running" in row(screen, name) for name in ("registry", "console"))
    nodes = all(re.search("[●★] Running", row(screen, name)) for name in NODES)
    agents = all(re.search("● (Idle|Busy)", row(screen, name)) for name in AGENTS)
    return services and nodes and agents and leader(screen) is not None and "owns" in row(screen, NODES[0])


def marked(screen: list[str]) -> str:
    """The resource the mark is at."""
    return next((line[2:].split(" ")[0] for line in screen if line.startswith("▸ ")), "")


def only_lines_of(name: str, screen: list[str]) -> bool:
    """The whole screen of one resource's lines is drawn: tmux may be read between two parts of one drawing."""
    shown = [line for line in screen if "│" in line]
    framed = any(f"logs of {name} " in line for line in screen) and "q quit" in screen[-1]
    return framed and bool(shown) and all(line.startswith((f"{name} ", "  ")) for line in shown)


def choose(terminal: Terminal, name: str) -> None:
    """Move the mark to a resource, step by step."""
    screen = terminal.wait(lambda now: marked(now) and row(now, name), f"{name} in the table")
    names = [one for one in ("registry", *NODES, *AGENTS, "console") if row(screen, one)]
    at, to = names.index(marked(screen)), names.index(name)
    steps = names[at + 1 : to + 1] if to > at else names[to:at][::-1]
    for step in steps:
        terminal.press("Down" if to > at else "Up")
        terminal.wait(lambda now, step=step: marked(now) == step, f"the mark at {step}", within=10)


def test_the_table_is_right_from_the_start_to_the_end(tmp_path: Path, tmux: Path) -> None:
    command = f"{UP} --port 0; echo ended with $?; cat"
    with Terminal(tmux, command, tmp_path) as terminal:
        screen = terminal.wait(all_up, "everything running")
        assert screen[0].startswith("  orth ")
        assert max(map(len, screen)) <= 80
        assert "q quit" in screen[-1]
        processes = family(keeper(tmp_path))
        assert len(processes) >= 8

        # kill the leader: another one leads, the killed one comes back and shows it
        first = leader(screen)
        assert first is not None
        choose(terminal, first)
        terminal.press("K")
        screen = terminal.wait(lambda now: leader(now) not in (None, first), "another leader")
        screen = terminal.wait(lambda now: "Running" in row(now, first) and "↻1" in row(now, first), "it is back")
        assert leader(screen) != first

        # drain an agent: it is stopped, and stays so; then start it
        choose(terminal, "agent-2")
        terminal.press("d")
        screen = terminal.wait(lambda now: "○ Stopped" in row(now, "agent-2"), "agent-2 drained")
        assert all(re.search("● (Idle|Busy)", row(screen, name)) for name in ("agent-1", "agent-3"))
        terminal.press("s")
        terminal.wait(lambda now: re.search("● (Idle|Busy)", row(now, "agent-2")), "agent-2 back")

        # another size, and only one's lines
        terminal.resize(120, 40)
        terminal.wait(lambda now: len(now) == 40 and "q quit" in now[-1], "the new size")
        choose(terminal, "agent-1")
        terminal.press("Enter")
        screen = terminal.wait(lambda now: only_lines_of("agent-1", now), "the lines of one, and of no other")
        assert any(len(line) > 80 for line in screen), "the wider screen is used"
        terminal.press("a")

        # trigger, then leave in good order: nothing is left
        terminal.press("t")
        terminal.wait(lambda now: any(re.search(r"triggered demo\.hello #\d+", line) for line in now), "a trigger")
        pid = keeper(tmp_path)
        processes |= family(pid)
        _group, shell = processes.pop(pid)  # it was in the session of the shell, which stays
        assert shell not in {session for _, session in processes.values()}, "the others have sessions of their own"
        terminal.press("C-c")
        terminal.wait(lambda now: any("ended with 0" in line for line in now), "the end")
        assert not alive(pid)
        assert left_of(processes) == []
        assert "all stopped" in "\n".join(terminal.screen())


def test_a_second_up_watches_the_first(tmp_path: Path, tmux: Path) -> None:
    small = f"{UP} --port 0 --coordinators 1 --agents 1"
    with Terminal(tmux, f"{small}; cat", tmp_path) as first:
        first.wait(lambda now: re.search("● (Idle|Busy)", row(now, "agent-1")), "the first")
        pid = keeper(tmp_path)
        with Terminal(tmux, f"{small}; echo left with $?; cat", tmp_path, width=100, height=30) as second:
            second.wait(lambda now: re.search("● (Idle|Busy)", row(now, "agent-1")), "the same table")
            assert keeper(tmp_path) == pid
            choose(second, "agent-1")
            second.press("r")
            first.wait(lambda now: "↻1" in row(now, "agent-1"), "a restart asked for by the second")
            second.press("q")
            second.wait(lambda now: any("left with 0" in line for line in now), "the second has left")
            assert alive(pid)
        os.kill(pid, signal.SIGTERM)
        eventually(lambda: not alive(pid), what="the end of the first")
        said = first.wait(lambda now: any("all stopped" in line for line in now), "its farewell")
        assert [line for line in said if line] == ["all stopped"]


def test_closing_the_terminal_ends_everything(tmp_path: Path, tmux: Path) -> None:
    with Terminal(tmux, f"{UP} --port 0 --coordinators 1 --agents 1", tmp_path) as terminal:
        terminal.wait(lambda now: re.search("● (Idle|Busy)", row(now, "agent-1")), "everything running")
        processes = family(keeper(tmp_path))
        assert len(processes) >= 4
    eventually(lambda: not left_of(processes), what="the end of everything")


PATIENT_JOB = """
import time
from pathlib import Path
from orth import Executor
app = Executor("patient")


@app.job(schedule="0 0 0 1 1 ?")
def wait():
    Path("begun").touch()
    while not Path("go").exists():
        time.sleep(0.05)
    time.sleep(2)  # long enough for several pictures
    Path("ended").touch()
"""


def test_what_runs_is_not_cut_when_the_terminal_of_a_draining_one_is_closed(tmp_path: Path, tmux: Path) -> None:
    (tmp_path / "jobs.py").write_text(PATIENT_JOB)
    with Terminal(tmux, f"{UP} --port 0 --coordinators 1 --agents 1", tmp_path) as terminal:
        terminal.wait(lambda now: "● Idle" in row(now, "agent-1") and "● Running" in row(now, "console"), "all running")
        processes = family(keeper(tmp_path))
        terminal.press("t")
        eventually((tmp_path / "begun").exists, what="the execution")
        choose(terminal, "agent-1")
        terminal.press("d")
        terminal.wait(lambda now: "Draining" in row(now, "agent-1"), "agent-1 draining")
        terminal.press("d")
    log = tmp_path / ".orth" / "up.log"
    eventually(lambda: "console stopped" in log.read_text(), what="the end of the console")
    (tmp_path / "go").touch()
    eventually((tmp_path / "ended").exists, what="the end of the execution")
    eventually(lambda: not left_of(processes), what="the end of everything")
    assert log.read_text().splitlines()[-1] == "up | all stopped"
