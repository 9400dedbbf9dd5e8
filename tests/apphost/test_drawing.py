"""What is on the screen, without a terminal."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.apphost.drawing import frame, plain_table, span
from orth.apphost.viewing import View
from tests.apphost.pictures import LINES, PLAIN, ROWS, SHOWN, lines_of


def drawn(view: View = View(), width: int = 80, height: int = 24) -> list[str]:  # noqa: B008
    return [line.plain.rstrip() for line in frame(SHOWN, view, LINES, width, height)]


def test_the_picture_at_80_by_24() -> None:
    assert drawn() == [
        "  orth 0.1.0   console http://127.0.0.1:5070",
        "  state in /home/me/orth/.orth (kept between runs)",
        "",
        "  RESOURCE       STATE                 ADDRESS         UP    BEAT  LOAD",
        "▸ registry       ● Running             127.0.0.1:5060  4s    –     2 coordinato…",
        "  coordinator-1  ★ Running  leader     127.0.0.1:5080  4s    1s    owns 1",
        "  coordinator-2  ● Running             127.0.0.1:5081  4s    2s    owns 1",
        "  agent-1        ● Busy                127.0.0.1:5090  3s    1s    demo.countdo…",
        "  agent-2        ● Idle                127.0.0.1:5091  3s    1s",
        "  agent-3        ● Idle                127.0.0.1:5092  3s    1s",
        "  console        ● Running             127.0.0.1:5070  1s    –",
        "── logs ────────────────────────────────────────────────────────────────────────",
        "coordinator-1 │ 10:00:01 coordinator-1 leads: term 1 begins",
        "agent-2       │ 10:00:03 orth.apphost.demo: hello world, due at 2026-01-30 10:00",
        "              │ :03+00:00",
        "coordinator-1 │ 10:00:03 demo.hello  #1  Success 200/200  0.0 s  http://127.0.0.",
        "              │ 1:5091",
        "agent-3       │ 10:00:04 ERROR something is wrong",
        "",
        "",
        "",
        "",
        "  ↑↓ select  Enter its logs  a all  / filter  r restart  s stop/start  d drain",
        "  K kill -9  t trigger  o open  c clear  q quit",
    ]


def test_lines_of_one_process_only() -> None:
    shown = drawn(View(only="agent-3"))
    assert any("── logs of agent-3 ─" in line for line in shown)
    assert [line for line in shown if "│" in line] == ["agent-3       │ 10:00:04 ERROR something is wrong"]


def test_lines_with_a_word() -> None:
    shown = [line for line in drawn(View(filter="SUCCESS"), width=200) if "│" in line]
    assert len(shown) == 1
    assert "#1  Success" in shown[0]


def test_cleared_lines_are_gone_and_new_ones_come() -> None:
    lines = lines_of(("agent-1", "old"), ("agent-1", "new"))
    shown = [line.plain for line in frame(SHOWN, View(cleared_at=1), lines, 80, 24)]
    assert any("new" in line for line in shown)
    assert not any("old" in line for line in shown)


def test_while_a_filter_is_typed_it_is_seen() -> None:
    assert "filter: agent" in drawn(View(typing=True, filter="agent"))[-1]
    assert drawn(View(notice="triggered demo.hello #4"))[-1] == "  triggered demo.hello #4"


def test_stopping_is_said_before_anything_else() -> None:
    stopping = replace(SHOWN, phase="stopping")
    shown = [line.plain.rstrip() for line in frame(stopping, View(notice="x"), LINES, 80, 24)]
    assert shown[0].endswith("stopping …")
    assert shown[-1] == "  stopping in good order; Ctrl+C stops at once"


def test_a_crash_and_restarts_are_shown() -> None:
    crashed = replace(
        ROWS[1], state="Crashed", detail="again in 4 s", leader=False, up=None, beat=None, load="", restarts=2
    )
    [_head, line] = plain_table([crashed]).splitlines()
    assert line.split("  ") == ["coordinator-1", "✖ Crashed", "again in 4 s", "↻2", "127.0.0.1:5080", "–", " –"]


def test_a_long_table_keeps_the_chosen_row_in_sight() -> None:
    many = replace(SHOWN, rows=tuple(replace(PLAIN, name=f"agent-{n}", address="x") for n in range(60)))
    for chosen in (0, 30, 59):
        shown = [line.plain for line in frame(many, View(chosen=chosen), LINES, 80, 24)]
        assert any(line.startswith(f"▸ agent-{chosen} ") for line in shown)
        assert any("something is wrong" in line for line in shown), "and some lines of the log"


@given(
    width=st.integers(1, 200),
    height=st.integers(1, 60),
    chosen=st.integers(0, 6),
    text=st.text(max_size=300),
)
def test_a_frame_always_fits(width: int, height: int, chosen: int, text: str) -> None:
    lines = lines_of(("agent-1", text), ("agent-2", "宽" * 50))
    shown = frame(SHOWN, View(chosen=chosen), lines, width, height)
    assert len(shown) == height
    assert max(line.cell_len for line in shown) <= width


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "–"), (0.4, "0s"), (119, "119s"), (120, "2m"), (7199, "119m"), (7200, "2h"), (200_000, "2d")],
)
def test_spans_are_short(seconds: float | None, text: str) -> None:
    assert span(seconds) == text
