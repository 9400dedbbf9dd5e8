"""A cluster at one moment, for tests of what is drawn: the one the README shows."""

from dataclasses import replace
from typing import Any

from orth.apphost.lines import LastLines, Line
from orth.apphost.snapshot import Row, Snapshot

PLAIN = Row("", "agent", "Idle", "", False, "", 3.2, 1.4, "", 0, 100)


def row(name: str, port: int, **facts: Any) -> Row:
    return replace(PLAIN, name=name, address=f"127.0.0.1:{port}", **facts)


ROWS = (
    row("registry", 5060, kind="registry", state="Running", up=4.2, beat=None, load="2 coordinators, 3 agents"),
    row(
        "coordinator-1", 5080, kind="coordinator", state="Running", detail="leader", leader=True, up=4.0, load="owns 1"
    ),
    row("coordinator-2", 5081, kind="coordinator", state="Running", up=4.0, beat=2.0, load="owns 1"),
    row("agent-1", 5090, state="Busy", load="demo.countdown"),
    row("agent-2", 5091),
    row("agent-3", 5092),
    row("console", 5070, kind="console", state="Running", up=1.1, beat=None),
)
SHOWN = Snapshot(
    "orth", "0.1.0", "running", "/home/me/orth/.orth", True, "http://127.0.0.1:5070", "http://127.0.0.1:5080", ROWS
)


def lines_of(*texts: tuple[str, str]) -> LastLines:
    lines = LastLines()
    for name, text in texts:
        lines.add(Line.of(name, text))
    return lines


README_LINES = lines_of(
    ("coordinator-1", "2026-01-30 10:00:01.374 INFO  orth: coordinator-1 leads: term 1 begins"),
    ("agent-2", "2026-01-30 10:00:03.044 INFO  orth.apphost.demo: hello world, due at 2026-01-30 10:00:03+00:00"),
    (
        "coordinator-1",
        "2026-01-30 10:00:03.061 INFO  orth: demo.hello  #1  Success 200/200  0.0 s  http://127.0.0.1:5091",
    ),
)
LINES = lines_of(
    ("coordinator-1", "2026-01-30 10:00:01.374 INFO  orth: coordinator-1 leads: term 1 begins"),
    ("agent-2", "2026-01-30 10:00:03.044 INFO  orth.apphost.demo: hello world, due at 2026-01-30 10:00:03+00:00"),
    (
        "coordinator-1",
        "2026-01-30 10:00:03.061 INFO  orth: demo.hello  #1  Success 200/200  0.0 s  http://127.0.0.1:5091",
    ),
    ("agent-3", "2026-01-30 10:00:04.100 ERROR orth: something is wrong"),
)
