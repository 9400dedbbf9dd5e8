"""A real pyxxl executor, in a process and an environment of its own.

pyxxl is another project's program, under another licence: it is installed from the package index into a private
environment beside the one the tests run in, started from there, and spoken to over the network. Nothing here, in the
product or in the tests, imports it.
"""

import fcntl
import os
import signal
import subprocess
import sys
import venv
from pathlib import Path
from types import TracebackType
from typing import Self

import urllib3

from tests.servers.processes import free_port
from tests.walk.processes import HTTP, TOKEN, eventually

PYXXL = "0.4.8"
_INSTALL_SECONDS = 150.0

PROGRAM = """
import asyncio, json, os, pathlib
from pyxxl import ExecutorConfig, PyxxlRunner
from pyxxl.ctx import g

folder = pathlib.Path(os.environ["PEER_FOLDER"])
port = int(os.environ["PEER_PORT"])
app = PyxxlRunner(
    ExecutorConfig(
        xxl_admin_baseurl=os.environ["PEER_ADMIN"],
        executor_app_name=os.environ["PEER_APP"],
        access_token=os.environ["PEER_TOKEN"],
        executor_listen_host="127.0.0.1",
        executor_listen_port=port,
        executor_url=f"http://127.0.0.1:{port}",
        executor_log_path=str(folder / "pyxxl.log"),
        log_local_dir=str(folder / "logs"),
        http_retry_times=60,
        http_retry_duration=1,
        dotenv_try=False,
    )
)


def note(word):
    with (folder / "notes").open("a") as out:
        out.write(word + "\\n")


async def hold():
    name = g.xxl_run_data.executorParams
    note(f"began {name}")
    while not (folder / f"release-{name}").exists():
        await asyncio.sleep(0.02)
    note(f"ended {name}")
    return f"released {name}"


@app.register(name="hold")
async def hold_it():
    return await hold()


@app.register(name="stubborn")
async def stubborn():
    try:
        return await hold()
    except asyncio.CancelledError:
        note(f"swallowed {g.xxl_run_data.executorParams}")
        return "swallowed"


@app.register(name="give")
async def give():
    g.logger.info("giving %s", g.xxl_run_data.executorParams)
    return json.loads(g.xxl_run_data.executorParams)


@app.register(name="fail")
async def fail():
    raise RuntimeError("failed as asked")


app.run_executor()
"""


def interpreter() -> Path:
    """The Python of pyxxl's environment, which is made when it is missing."""
    folder = Path(sys.prefix) / "foreign" / f"pyxxl-{PYXXL}"
    folder.parent.mkdir(exist_ok=True)
    python = folder / "bin" / "python"
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may want it at once
        if not (folder / "complete").exists():
            _install(folder, python)
    return python


def _install(folder: Path, python: Path) -> None:
    venv.create(folder, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", f"pyxxl=={PYXXL}"]
    try:
        done = subprocess.run(install, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
        complaint = done.stderr[-2000:] if done.returncode else ""
    except subprocess.TimeoutExpired:
        complaint = f"nothing for {_INSTALL_SECONDS:.0f} s"
    assert not complaint, (
        f"pyxxl {PYXXL} could not be installed in {folder}, and these tests need it as a real executor. "
        f"Let pip reach a package index (its settings are used as they are), then run them again. "
        f"pip said: {complaint}"
    )
    (folder / "complete").touch()


class Pyxxl:
    """One executor process. ``admin`` is the URL it is told, with a slash at its end."""

    def __init__(self, python: Path, folder: Path, app_name: str, admin: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.app_name = app_name
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._python = python
        # A clean environment: it reads its settings from variables with everyday names.
        self._environment = {
            "PATH": os.environ["PATH"],
            "PEER_FOLDER": str(folder),
            "PEER_PORT": str(self.port),
            "PEER_APP": app_name,
            "PEER_TOKEN": TOKEN,
            "PEER_ADMIN": admin,
        }

    def __enter__(self) -> Self:
        with (self.folder / "output").open("a") as out:
            self.popen = subprocess.Popen(
                [str(self._python), "-c", PROGRAM],
                env=self._environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        eventually(self._answers, what="pyxxl's start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait(10)

    def _answers(self) -> bool:
        assert self.popen.poll() is None, (self.folder / "output").read_text()
        try:
            return HTTP.request("POST", f"{self.address}/beat", body=b"{}").status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        self.popen.send_signal(signal.SIGTERM)
        self.popen.wait(20)

    def notes(self) -> list[str]:
        """What its handlers noted, in order."""
        file = self.folder / "notes"
        return file.read_text().splitlines() if file.exists() else []

    def release(self, name: str) -> None:
        (self.folder / f"release-{name}").touch()

    def until(self, note: str) -> None:
        eventually(lambda: note in self.notes(), what=f"pyxxl's note {note!r}")
