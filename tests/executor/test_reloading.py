"""``orth executor FILE --reload``, with real processes."""

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

from orth.executor.reloading import changed, folder_of, snapshot
from tests.executor.bench import TOKEN, eventually
from tests.executor.stand_in import StandIn
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
            env=clean | {"ORTH_EXECUTOR__COORDINATORS": coordinator.url, "ORTH_SECURITY__ACCESS_TOKEN": TOKEN},
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
