"""From the command to a run: in the foreground, in the background, or watching one that is there already."""

import asyncio
import os
import runpy
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from orth.apphost.attached import attach
from orth.apphost.certificates import development_certificates
from orth.apphost.control import show
from orth.apphost.hosting import Host, Manner, table_of
from orth.apphost.lines import read_log
from orth.apphost.place import Place
from orth.apphost.screen import is_terminal, say
from orth.apphost.snapshot import Snapshot
from orth.apphost.topologies import DEMO, Ground, Layout, from_settings, plan
from orth.clock import SystemClock
from orth.errors import CannotStart, OrthError, Unavailable
from orth.settings import Settings, load_settings

APPHOST_FILE = "apphost.py"
_PASSWORD_FILE = "admin-password"  # noqa: S105  # the name of the file
_LOOK_EVERY = 0.1
_LOOKS = 100
_LAST_LINES = 20


@dataclass(frozen=True, slots=True)
class Choice:
    """How a person asked for it."""

    settings: Settings
    ephemeral: bool = False
    plain: bool = False
    behind: bool = False
    """In the background, started by ``detach``."""
    log_level: str | None = None


_chosen: ContextVar[Choice | None] = ContextVar("chosen", default=None)


def up(choice: Choice, file: Path | None) -> int:
    """Start everything, run until it is stopped, stop everything; the exit code.

    ``file`` is an ``apphost.py``; without one, that of this folder, else the settings decide.
    """
    found = file or (Path(APPHOST_FILE) if Path(APPHOST_FILE).is_file() else None)
    if found is None:
        return bring_up(from_settings(choice.settings, _target(choice.settings)), choice)
    if not found.is_file():
        raise CannotStart(f"There is no file {found}.")
    _chosen.set(choice)
    sys.path.insert(0, str(found.parent.resolve()))
    runpy.run_path(str(found), run_name="__main__")
    raise CannotStart(f"{found} has ended without starting anything.", hint="Call host.run() at its end.")


def run_layout(layout: Layout) -> int:
    """What ``AppHost.run`` does: with the choices of ``orth up``, or with the settings of this folder."""
    chosen = _chosen.get() or Choice(load_settings(environ=os.environ, cwd=Path.cwd()))
    return bring_up(layout, chosen)


def bring_up(layout: Layout, choice: Choice) -> int:
    settings = choice.settings
    with ExitStack() as stack:
        folder = Path(settings.coordinator.data_dir).resolve()
        if choice.ephemeral:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="orth-")))
        place = Place(folder)
        screen = is_terminal(os.environ) and not choice.plain and not choice.behind
        if not stack.enter_context(place.held()):
            return _join(place, screen=screen)
        password = _admin_password(settings, folder)
        certificates = development_certificates(layout, settings, folder) if settings.apphost.tls else None
        topology = plan(layout, Ground(settings, folder, password, certificates, choice.log_level))
        manner = Manner(
            screen=screen,
            quiet=choice.behind,
            kept=not choice.ephemeral,
            ready_within=settings.apphost.ready_within.total_seconds(),
            password_file=folder / _PASSWORD_FILE,
            password=password,
            store_url=settings.store.url or f"sqlite:///{folder / 'orth.db'}",
        )
        host = Host(topology, place, manner, SystemClock())
        code = asyncio.run(_hosted(host, screen=screen))
        if choice.behind:  # to those who wait in ``detach``
            sys.stderr.writelines(f"{reason}\n" for reason in host.reasons)
        return code


async def _hosted(host: Host, *, screen: bool) -> int:
    code = await host.run()
    if screen:
        say(host.farewell())
    return code


def _join(place: Place, *, screen: bool) -> int:
    """Another ``orth up`` runs here: look at it."""
    shown = _first_sight(place)
    if screen:
        return asyncio.run(attach(place, SystemClock()))
    say(f"orth up runs here already ({place.folder}); orth down ends it\n{table_of(shown)}")
    return 0


def _first_sight(place: Place) -> Snapshot:
    """What it shows. One that has just begun does not listen yet."""
    for _ in range(_LOOKS):
        try:
            return show(place)
        except Unavailable:
            if not place.is_held:
                raise
        threading.Event().wait(_LOOK_EVERY)
    return show(place)


def detach(choice: Choice, arguments: Sequence[str]) -> int:
    """Start ``orth up`` in the background with these arguments, and come back when it is ready; the exit code."""
    folder = Path(choice.settings.coordinator.data_dir).resolve()
    place = Place(folder)
    place.prepare()
    if place.is_held:
        return _join(place, screen=False)
    trouble_file = folder / "up.err"
    with trouble_file.open("w") as trouble:
        host = subprocess.Popen(  # noqa: S603  # the command line of this very process
            [sys.executable, "-m", "orth", *arguments, "--behind"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=trouble,
            start_new_session=True,
        )
    code = _started(host, place)
    if code != 0:
        reason = trouble_file.read_text().strip() or "\n".join(line.plain() for line in read_log(folder)[-_LAST_LINES:])
        sys.stderr.write(f"{reason}\north logs shows what the processes said.\n")
    return code


def _started(host: subprocess.Popen[bytes], place: Place) -> int:
    """Wait until it is ready, and show it; the exit code."""
    while host.poll() is None:
        shown = _shown_by(host.pid, place)
        if shown is not None and shown.phase == "running":
            sys.stdout.write(f"{table_of(shown)}\n\nconsole {shown.console}\n")
            sys.stdout.write("orth ps, orth logs -f and orth down look after it\n")
            return 0
        threading.Event().wait(_LOOK_EVERY)
    if place.is_held:  # another one was quicker
        return _join(place, screen=False)
    return host.returncode or 1


def _shown_by(pid: int, place: Place) -> Snapshot | None:
    """What the ``orth up`` of this process shows, if it listens yet. Another one may have been quicker."""
    standing = place.read()
    if standing is None or standing.pid != pid:
        return None
    try:
        return show(place)
    except OrthError:
        return None


def _admin_password(settings: Settings, folder: Path) -> str:
    """As set, else the one this folder was started with before, else a new one, kept where only this user can read
    it.
    """
    if settings.security.admin_password is not None:
        return settings.security.admin_password.get_secret_value()
    file = folder / _PASSWORD_FILE
    try:
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
        return DEMO
    raise CannotStart(
        "There is no jobs.py here, and the demo is switched off.", hint="Write a jobs.py, or leave --no-demo out."
    )
