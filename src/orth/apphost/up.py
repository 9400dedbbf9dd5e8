"""The order of ``orth up``: coordinators, executors, first jobs; and back."""

import asyncio
import os
import secrets
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import urllib3

from orth.apphost.first_jobs import AdminApi, Made, make_first_jobs
from orth.apphost.processes import Child
from orth.apphost.resources import Resource, Topology, topology
from orth.clock import Clock, SystemClock
from orth.errors import CannotStart, OrthError
from orth.serving import asked_to_stop
from orth.settings import Settings

_STOP_WITHIN = 20.0
_LOOK_EVERY = 0.05
_PASSWORD_FILE = "admin-password"  # noqa: S105  # the name of the file
_COLOURS = (36, 33, 35, 32, 34, 31)
_DEMO = "orth.apphost.demo"


def up(settings: Settings, *, ephemeral: bool) -> int:
    """Start everything, run until Ctrl+C, stop everything; the exit code."""
    with ExitStack() as stack:
        folder = Path(settings.coordinator.data_dir).resolve()
        if ephemeral:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="orth-")))
        password = _admin_password(settings, folder)
        plan = topology(settings, folder, _target(settings), password)
        return asyncio.run(_Host(plan, folder, password, SystemClock()).run())


class _Host:
    """The processes of one ``orth up`` while it runs."""

    def __init__(self, plan: Topology, folder: Path, password: str, clock: Clock) -> None:
        self._plan = plan
        self._folder = folder
        self._password = password
        self._clock = clock
        self._children: list[Child] = []
        self._width = max(len(one.name) for one in (*plan.coordinators, *plan.executors))
        self._colour = {
            one.name: _COLOURS[i % len(_COLOURS)] for i, one in enumerate((*plan.coordinators, *plan.executors))
        }

    async def run(self) -> int:
        stopping = asked_to_stop()
        for sentence in self._plan.moved:
            self.tell("up", sentence)
        work = asyncio.create_task(self._start_and_watch())
        stopped = asyncio.create_task(stopping.wait())
        try:
            await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                work.cancel()
                self.tell("up", "stopping; Ctrl+C again to stop at once")
                return 0
            return await work
        except OrthError as error:
            self.tell("up", str(error))
            return 1
        finally:
            stopped.cancel()
            await self._stop()

    async def _start_and_watch(self) -> int:
        began = self._clock.monotonic()
        await self._start(self._plan.coordinators, "/health/ready")
        await self._start(self._plan.executors, "/health")
        made = await asyncio.to_thread(self._make_jobs)
        self._welcome(made, self._clock.monotonic() - began)
        return await self._first_end()

    async def _start(self, resources: Sequence[Resource], path: str) -> None:
        started = [await Child.start(one, os.environ, self.tell) for one in resources]
        self._children.extend(started)
        await asyncio.gather(*(child.ready(_answers, path, self._clock) for child in started))

    def _make_jobs(self) -> Made:
        api = AdminApi(self._plan.coordinator_url, "admin", self._password)
        expected = len(self._plan.executors)
        deadline = self._clock.monotonic() + _STOP_WITHIN
        while len(api.call("GET", "/api/v1/executors")["items"]) < expected:
            threading.Event().wait(_LOOK_EVERY)
            if self._clock.monotonic() > deadline:
                raise CannotStart("The executors run, but they have not registered.", hint="Their lines above say why.")
        return make_first_jobs(api)

    def _welcome(self, made: Made, took: float) -> None:
        self.tell("up", f"ready after {took:.1f} s: API at {self._plan.coordinator_url}, state in {self._folder}")
        self.tell("up", f"sign in as admin; the password is in {self._folder / _PASSWORD_FILE}")
        for name, schedule in made.jobs:
            self.tell("up", f"created job {name} ({schedule})")

    async def _first_end(self) -> int:
        waits = {asyncio.create_task(child.ended()): child for child in self._children}
        try:
            done, _rest = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            ended = next(iter(done))
            self.tell("up", f"{waits[ended].resource.name} ended with exit code {ended.result()}; stopping the others")
            return 1
        finally:
            for wait in waits:
                wait.cancel()

    async def _stop(self) -> None:
        """Executors first, so that their last results still find a coordinator."""
        executors = [child for child in self._children if child.resource in self._plan.executors]
        await asyncio.gather(*(child.stop(_STOP_WITHIN) for child in executors))
        coordinators = [child for child in self._children if child.resource in self._plan.coordinators]
        await asyncio.gather(*(child.stop(_STOP_WITHIN) for child in coordinators))
        if self._children:
            self.tell("up", "all stopped")

    def tell(self, name: str, line: str) -> None:
        prefix = f"{name:<{self._width}} |"
        if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
            prefix = f"\x1b[{self._colour.get(name, 1)}m{prefix}\x1b[0m"
        sys.stdout.write(f"{prefix} {line}\n")
        sys.stdout.flush()


def _admin_password(settings: Settings, folder: Path) -> str:
    """As set, else the one this folder was started with before, else a new one, kept where only this user can read
    it.
    """
    if settings.security.admin_password is not None:
        return settings.security.admin_password.get_secret_value()
    file = folder / _PASSWORD_FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
                out.write(secrets.token_urlsafe(12) + "\n")
        return file.read_text().strip()
    except OSError as error:
        raise CannotStart(
            f"The folder {folder} cannot be written: {error.strerror}.", hint="Start elsewhere."
        ) from None


def _target(settings: Settings) -> str:
    """What the executors run: ``jobs.py`` if there is one here, else the demo."""
    own = Path("jobs.py")
    if own.exists():
        return str(own.resolve())
    if settings.apphost.demo:
        return _DEMO
    raise CannotStart(
        "There is no jobs.py here, and the demo is switched off.", hint="Write a jobs.py, or leave --no-demo out."
    )


def _answers(url: str) -> bool:
    try:
        return urllib3.PoolManager(retries=False).request("GET", url, timeout=2.0).status == 200
    except urllib3.exceptions.HTTPError:
        return False
