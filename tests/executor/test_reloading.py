"""``orth executor FILE --reload``, with real processes."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from orth.executor.reloading import TRIAL_LIMIT, Reloader, changed, folder_of, snapshot
from tests.executor.bench import TOKEN, HandClock, eventually
from tests.executor.stand_in import StandIn
from tests.executor.survivors import alive, new_mark
from tests.executor.test_process import run

JOBS = """
import time
from pathlib import Path
from orth import Executor, JobContext
app = Executor("reload-app")

@app.job
def answer() -> str:
    return "{answer}"

@app.job
def wait_for_file(ctx: JobContext, path: str) -> str:
    while not Path(path).exists():
        ctx.checkpoint()
        time.sleep(0.01)
    return "waited in {answer}"
"""


class Watcher:
    """The command in a folder of its own; what it tells is in a file."""

    def __init__(self, folder: Path, coordinator: StandIn, *options: str) -> None:
        self.folder = folder
        self.coordinator = coordinator
        self.errors = folder / "told.log"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ORTH_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "orth", "executor", "jobs.py", "--listen", "127.0.0.1:0", *options],
            cwd=folder,
            env=clean
            | {
                "ORTH_EXECUTOR__COORDINATORS": coordinator.url,
                "ORTH_EXECUTOR__SHOW_TOKEN": "true",
                "ORTH_SECURITY__ACCESS_TOKEN": TOKEN,
            },
            stdout=subprocess.DEVNULL,
            stderr=self.errors.open("wb"),
        )

    def write(self, answer: str) -> None:
        (self.folder / "jobs.py").write_text(JOBS.format(answer=answer))

    def told(self) -> str:
        return self.errors.read_text()

    def incarnations(self) -> list[str]:
        return list(dict.fromkeys(body["orth"]["incarnation"] for body in self.coordinator.of("/api/registry")))

    def registered(self, count: int) -> int:
        """The port of the executor once ``count`` of them have registered."""
        eventually(lambda: len(self.incarnations()) >= count, 40)
        port = self.coordinator.executor_port
        assert port is not None
        return port

    def results(self, count: int) -> list[tuple[int, str]]:
        eventually(lambda: len(self.coordinator.results) >= count, 20)
        return [(result["logId"], result["handleMsg"]) for result in self.coordinator.results]


Start = Callable[..., Watcher]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as stack:
        coordinator = stack.enter_context(StandIn(TOKEN))
        (tmp_path / "jobs.py").write_text(JOBS.format(answer="one"))

        def make(*options: str) -> Watcher:
            watcher = Watcher(tmp_path, coordinator, *options)
            stack.callback(watcher.process.wait)
            stack.callback(watcher.process.kill)
            return watcher

        yield make


def test_a_change_is_served_after_what_runs_has_ended_and_a_broken_file_is_not(start: Start, tmp_path: Path) -> None:
    watcher = start("--reload")
    port = watcher.registered(1)
    assert run(port, 1, "wait_for_file", str(tmp_path / "go"))["code"] == 200
    (tmp_path / "jobs.py").write_text("def (")
    eventually(lambda: "SyntaxError" in watcher.told(), 30)
    assert "jobs.py:1): def (; the executor goes on" in watcher.told()
    assert "importlib" not in watcher.told()
    assert "the executor goes on as it was until it is mended" in watcher.told()
    assert run(port, 1, "answer")["msg"].startswith("Execution 1 is here already: running"), "the old one is there"
    watcher.write("two")
    eventually(lambda: bool(watcher.coordinator.of("/api/registryRemove")), 30)
    assert len(watcher.incarnations()) == 1, "it drains first"
    (tmp_path / "go").touch()
    port = watcher.registered(2)
    assert run(port, 2, "answer")["code"] == 200
    assert watcher.results(2) == [(1, "waited in one"), (2, "two")]
    watcher.process.send_signal(signal.SIGTERM)
    assert watcher.process.wait(20) == 0
    assert len(watcher.coordinator.of("/api/registryRemove")) == 2, "the last one was stopped in good order too"


def test_hard_does_not_wait(start: Start, tmp_path: Path) -> None:
    watcher = start("--reload=hard")
    port = watcher.registered(1)
    assert run(port, 1, "wait_for_file", str(tmp_path / "never"))["code"] == 200
    watcher.write("two")
    port = watcher.registered(2)
    assert run(port, 2, "answer")["code"] == 200
    assert watcher.results(1) == [(2, "two")]


def test_a_killed_watcher_leaves_no_executor(start: Start, tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text("1 / 0")
    watcher = start("--reload")
    eventually(lambda: "no executor runs until it is mended" in watcher.told(), 30)
    watcher.write("mended")
    watcher.registered(1)
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(watcher.process.pid)], capture_output=True, text=True)
    [child] = [int(word) for word in found.stdout.split()]
    watcher.process.kill()
    watcher.process.wait()
    eventually(lambda: not _running(child), 20)


HANGING = "import subprocess, time\nsubprocess.Popen(['sleep', '{mark}'])\ntime.sleep({mark})\n"


def test_a_file_that_hangs_when_it_is_loaded_holds_up_neither_its_mending_nor_the_end(
    start: Start, tmp_path: Path
) -> None:
    watcher = start("--reload")
    watcher.registered(1)
    first, second = new_mark(), new_mark()
    (tmp_path / "jobs.py").write_text(HANGING.format(mark=first))
    eventually(lambda: alive(first) != [], 20)
    watcher.write("mended")
    port = watcher.registered(2)
    assert alive(first) == []
    assert run(port, 1, "answer")["code"] == 200
    assert watcher.results(1) == [(1, "mended")]
    (tmp_path / "jobs.py").write_text(HANGING.format(mark=second))
    eventually(lambda: alive(second) != [], 20)
    watcher.process.send_signal(signal.SIGTERM)
    assert watcher.process.wait(20) == 0
    assert alive(second) == []
    assert len(watcher.coordinator.of("/api/registryRemove")) == 2, "the executor was stopped in good order"


def test_a_file_that_exits_when_it_is_loaded_is_not_taken(start: Start, tmp_path: Path) -> None:
    watcher = start("--reload")
    port = watcher.registered(1)
    exits = "the source exits with code {} while it is loaded; the executor goes on"
    for top_level, told in (
        ("import sys; sys.exit()", "jobs.py exits with code 0 while it is loaded"),
        ("raise SystemExit(3)", "jobs.py exits with code 3 while it is loaded"),
        ("import os; os._exit(0)", exits.format(0)),
        ("import os; os.write(2, b'a word'); os._exit(3)", "a word: " + exits.format(3)),
        ("import os; os.kill(os.getpid(), 9)", "the source is ended by signal 9 while it is loaded"),
    ):
        (tmp_path / "jobs.py").write_text(f"{JOBS}\n{top_level}\n")
        eventually(lambda told=told: told in watcher.told(), 30)
    assert run(port, 1, "answer")["code"] == 200, "the old one is there"
    watcher.process.send_signal(signal.SIGTERM)
    assert watcher.process.wait(20) == 0
    assert len(watcher.incarnations()) == 1


def test_a_killed_watcher_leaves_no_trial(start: Start, tmp_path: Path) -> None:
    mark = new_mark()
    (tmp_path / "jobs.py").write_text(f"import os\nos.execvp('sleep', ['sleep', '{mark}'])")
    watcher = start("--reload")
    eventually(lambda: alive(mark) != [], 20)
    watcher.process.kill()
    eventually(lambda: alive(mark) == [], 20)


async def test_a_file_that_is_never_loaded_is_given_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mark = new_mark()
    clock = HandClock()
    reloader = Reloader([], ["sleep", mark], tmp_path, hard=False, clock=clock)
    before = clock.monotonic()
    assert not await reloader.is_sound(snapshot(tmp_path), asyncio.Event())
    assert clock.monotonic() - before == pytest.approx(TRIAL_LIMIT, abs=1)
    assert "the source was not loaded within 60 s; no executor runs until it is mended" in caplog.text
    assert alive(mark) == []


def _running(pid: int) -> bool:
    try:
        return re.search(r"State:\s+Z", Path(f"/proc/{pid}/status").read_text()) is None
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_snapshot_sees_python_files_that_are_the_authors(tmp_path: Path) -> None:
    for name in ("jobs.py", "sub/more.py", ".venv/lib/x.py", "__pycache__/y.py", "site-packages/z.py", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1")
    before = snapshot(tmp_path)
    assert {Path(path).name for path in before} == {"jobs.py", "more.py"}
    assert changed(before, snapshot(tmp_path)) == []
    (tmp_path / "jobs.py").write_text("x = 22")
    (tmp_path / "sub/more.py").unlink()
    (tmp_path / "new.py").touch()
    names = [Path(path).name for path in changed(before, snapshot(tmp_path))]
    assert names == ["jobs.py", "new.py", "more.py"]
    earlier = time.time() - 100
    now = snapshot(tmp_path)
    os.utime(tmp_path / "new.py", (earlier, earlier))
    assert len(changed(now, snapshot(tmp_path))) == 1, "an older file put in the place is a change too"


@pytest.mark.parametrize(
    ("target", "folder"), [("jobs.py", "."), ("sub/jobs.py:app", "sub"), ("pkg.jobs", "."), ("pkg.jobs:app", ".")]
)
def test_what_is_watched(target: str, folder: str) -> None:
    assert folder_of(target) == Path(folder)
