"""Logs of executions: any bytes in the file and in its index, read by page, from the end, and line by line."""

import tempfile
from pathlib import Path

from hypothesis import strategies as st

from orth.clock import SystemClock
from orth.events import Events
from orth.executor.log_files import STEP, index_path
from orth.executor.output import LINE_LIMIT, Lines
from orth.executor.run_logs import PAGE_BYTES, PAGE_LINES, RunLogs
from orth.wire.messages import LogPage
from tests.fuzz.mutations import ODD_BYTES, mutated
from tests.fuzz.target import MEMORY, Target

_NEVER = 2**31 - 1
_LINES = [
    b"2026-01-01T00:00:00Z a line\n", b"\n", b"\r\n", b"\xff\xfe\n", b"no end", b"\x1b[2J\x1b]0;t\x07\n",
    b"\0" * 64, "\u202eright to left\u2028\x85\n".encode(), b"x" * 40_000 + b"\n", b"a\rb\rc\n", b"\xf0\x9f\x98",
    b"::progress 1/2\n",
]  # fmt: skip

_texts = st.one_of(
    st.lists(st.sampled_from([*_LINES, *ODD_BYTES]), max_size=30).map(b"".join),
    st.builds(lambda line, count: line * count, st.sampled_from(_LINES[:5]), st.sampled_from([STEP - 1, STEP, 2500])),
    mutated(_LINES),
    st.just(b"z" * (2 * PAGE_BYTES + 1)),
)
_indexes = st.one_of(
    st.just(b""),
    st.binary(max_size=64),
    st.lists(st.sampled_from([0, 1, 28 * STEP, 2 * STEP, 2**40, 2**64 - 1]), max_size=4).map(
        lambda places: b"".join(place.to_bytes(8, "big") for place in places)
    ),
)
_numbers = st.one_of(st.integers(1, 3_000), st.sampled_from([-(2**31), -1, 0, STEP, STEP + 1, _NEVER]))


def _read_log(given: tuple[bytes, bytes, int, int]) -> None:
    data, index, from_line, tail = given
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        logs = RunLogs(Path(folder), SystemClock(), Events())
        path = logs.path_of(1, 0)
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        if index:
            Path(index_path(str(path))).write_bytes(index)
        for finished in (False, True):
            _check_page(logs.read(1, 0, from_line, finished=finished))
            _check_page(logs.tail(1, 0, tail, finished=finished))
        if not index:
            _read_through(logs, data)
        logs.close()


def _check_page(page: LogPage) -> None:
    assert page.from_line - 1 <= page.to_line <= page.from_line + PAGE_LINES
    assert len(page.content) <= PAGE_BYTES
    page.content.encode()


def _read_through(logs: RunLogs, data: bytes) -> None:
    """Page by page nothing is missing and nothing comes twice."""
    line, read = 1, []
    while True:
        page = logs.read(1, 0, line, finished=True)
        assert page.from_line == line
        if page.to_line >= line:
            read.append(page.content)
        if page.end:
            break
        assert page.to_line >= line
        line = page.to_line + 1
    if all(len(one) < PAGE_BYTES for one in data.split(b"\n")):
        assert "\n".join(read) == data.decode("utf-8", "replace").removesuffix("\n").replace("\0", "\ufffd")
    else:
        assert sum(map(len, read)) >= data.count(b"z")


def _collect_lines(pieces: list[bytes]) -> None:
    """What a process writes, in whatever pieces: whole lines, in bounded memory."""
    collected: list[str] = []
    lines = Lines(collected.extend)
    for piece in pieces:
        lines.feed(piece)
        assert len(lines._kept) <= LINE_LIMIT
    lines.finish()
    assert len(collected) <= sum(piece.count(b"\n") for piece in pieces) + 1
    assert not any("\n" in line for line in collected)


TARGETS = [
    Target(
        "logs and their indexes",
        st.tuples(_texts, _indexes, _numbers, _numbers),
        _read_log,
        bound=0.5,
        examples=150,
    ),
    Target("output of processes", st.lists(mutated(_LINES), max_size=6), _collect_lines),
]
