"""One run: the processes come up in order, first jobs are made, and at the end all go down in reverse order."""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from orth.apphost.browsing import lead_on, open_console
from orth.apphost.control import Control, Served
from orth.apphost.drawing import plain_table
from orth.apphost.first_jobs import AdminApi, Made, make_first_jobs, trigger_one
from orth.apphost.front import Front
from orth.apphost.keeping import Keeper, Keeping, State
from orth.apphost.lines import LastLines, Line, LogFile, record_of
from orth.apphost.looking import Looking
from orth.apphost.place import Place, Standing
from orth.apphost.processes import Tell
from orth.apphost.resources import Kind, Topology
from orth.apphost.screen import silence
from orth.apphost.snapshot import Snapshot, row_of
from orth.apphost.trust import Web
from orth.apphost.viewing import Do, Wish
from orth.clock import Clock, iso
from orth.domain.audit import Actor, ActorKind
from orth.errors import NotFound, OrthError, Unavailable
from orth.events import Events
from orth.version import __version__

_LOOK_EVERY = 0.25
_REGISTERED_WITHIN = 20.0
_ADMIN = "admin"
_BY_UP = Actor(ActorKind.COMMAND, "orth up")
_TOKEN_LASTS = 24 * 3_600_000
_LAST_WORDS = 5
_MOST_NOTES = 20
_CHECK = "To see the file and line of each, run: orth executor FILE --check"
_COLOURS = (36, 33, 35, 32, 34, 31)


@dataclass(frozen=True, slots=True)
class Manner:
    """How a run shows itself and what it keeps."""

    screen: bool
    """A person watches: draw, and go on when a process does not come up. Otherwise lines, and give up."""
    quiet: bool
    """Nobody watches: nothing is printed."""
    kept: bool
    """Whether the folder stays."""
    ready_within: float
    password_file: Path
    password: str
    store_url: str | None = None
    """The database, for a link that signs a browser in; without it there is none."""


class OwnLog(logging.Handler):
    """What this very process logs, as lines among the others: a terminal that is drawn on has no room for more."""

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        for line in self.format(record).splitlines():
            self._tell("up", line)


class Host:
    """The processes of one ``orth up`` while it runs."""

    def __init__(self, topology: Topology, place: Place, manner: Manner, clock: Clock) -> None:
        self._topology, self._place, self._manner, self._clock = topology, place, manner, clock
        self._web = Web(topology.ca_file)
        self._lines, self._file = LastLines(), LogFile(place.folder)
        self._width = max(len(one.name) for one in topology.resources)
        self._phase = "starting"
        self._unheard = False
        self._password_changed = False
        self.reasons: list[str] = []
        """Why the run did not come up."""
        self._notes: tuple[str, ...] = ()
        self._token: str | None = None
        self._token_made = 0
        self._making_token = threading.Lock()
        self._stop, self._now = asyncio.Event(), asyncio.Event()
        self._standing: Standing | None = None
        events = Events(lambda event: self.tell("up", str(event)))
        self.keeping = Keeping(
            topology.resources,
            clock,
            events,
            environment=os.environ,
            answers=self._web.answers,
            tell=self.tell,
            ready_within=manner.ready_within,
        )
        self.looking = Looking(self._sign_in, self._ready_urls, clock, events)
        self._front = Front(self.snapshot, self._lines, self.carry_out, clock, events)

    async def run(self) -> int:
        logging.basicConfig(handlers=[OwnLog(self.tell)], level=logging.WARNING, force=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self.interrupt)
        # The window was closed. Never at once: that may be how the person leaves after a first Ctrl+C.
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.go_down, False)
        served = Served(self.snapshot, self._lines, self.carry_out, self.go_down)
        loops = [self.keeping, self.looking, *([self._front] if self._manner.screen else [])]
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(Control(self._place, served, self._clock))
            await stack.enter_async_context(lead_on(self._topology.dashboard_port, self._topology.console_url))
            tasks = [asyncio.create_task(loop.run(), name=loop.name) for loop in loops]
            story = asyncio.create_task(self._story())
            try:
                await self._told(story, *tasks)
                return await story
            finally:
                story.cancel()
                for loop in loops:
                    loop.stop()
                await asyncio.gather(*tasks)
                self._file.close()

    async def _told(self, story: asyncio.Task[int], keeping: asyncio.Task[None], *others: asyncio.Task[None]) -> None:
        """Wait for the end of the story. A loop that ends before has crashed, which is a bug: without those who only
        look, all still goes down in good order; without the one who keeps the processes, at once.
        """
        await asyncio.wait([story, keeping, *others], return_when=asyncio.FIRST_COMPLETED)
        if not story.done() and not keeping.done():
            self.go_down(False)
            await asyncio.wait([story, keeping], return_when=asyncio.FIRST_COMPLETED)
        if not story.done():
            self._now.set()
            await self._kill_all()

    def interrupt(self) -> None:
        """Once: stop in good order. Twice: at once."""
        self.go_down(self._stop.is_set())

    def go_down(self, now: bool) -> None:
        self._stop.set()
        if now:
            self._now.set()
        self.keeping.wake()

    # --- the story of a run

    async def _story(self) -> int:
        code = 0
        try:
            for sentence in (*self._topology.moved, *self._hosts_advice()):
                self.tell("up", sentence)
            code = await self._come_up()
            if not self._stop.is_set() and code == 0:
                await self._until(self._stop.is_set)
        finally:
            await self._go_down()
        return 1 if self._now.is_set() else code

    async def _come_up(self) -> int:
        began = self._clock.monotonic()
        workers = [one for one in self.keeping.keepers.values() if one.resource.kind in (Kind.COORDINATOR, Kind.AGENT)]
        if await self._ready(workers):
            try:
                self.tell_made(await self._first_jobs())
            except OrthError as error:
                self._give_reason(str(error))
                if not self._manner.screen:
                    return 1
        if await self._ready(self.keeping.keepers.values()):
            self._phase = "running"
            self._welcome(self._clock.monotonic() - began)
            await asyncio.to_thread(self._tell_link)
        if self._gives_up:
            for keeper in self.keeping.keepers.values():
                if keeper.trouble:
                    last = [line.text for line in self._lines if line.name == keeper.resource.name][-_LAST_WORDS:]
                    self._give_reason(keeper.trouble, *last)
            return 1
        return 0

    def _give_reason(self, sentence: str, *last_words: str) -> None:
        """Why this run does not come up. The lines of a process that ended stand above already."""
        self.tell("up", sentence)
        self.reasons += [sentence, *(f"  {words}" for words in last_words)]

    def tell_made(self, made: Made) -> None:
        """Show which jobs were created, and keep what was not for those who ask how things are."""
        for name, schedule in made.jobs:
            self.tell("up", f"created job {name} ({schedule})")
        for sentence in made.refused:
            self.tell("up", sentence)
        self._notes = (*self._errors_of_agents(), *made.refused, *([_CHECK] if made.refused else ()))

    def _errors_of_agents(self) -> list[str]:
        """What the executors logged as errors so far: each once, for all of them run the same jobs."""
        agents = {one.name for one in self._topology.of(Kind.AGENT)}
        said = (record_of(line.text) for line in self._lines if line.name in agents)
        return list(dict.fromkeys(one.text for one in said if one.level == "ERROR"))[:_MOST_NOTES]

    async def _ready(self, keepers: Iterable[Keeper]) -> bool:
        """Wait until all of them were ready; False if that is given up, or everything is to stop."""
        awaited = [*keepers]
        await self._until(
            lambda: all(one.was_ready for one in awaited) or self._gives_up or self._stop.is_set(),
        )
        return not self._gives_up and not self._stop.is_set()

    @property
    def _gives_up(self) -> bool:
        return bool(self.keeping.troubles) and not self._manner.screen

    async def _go_down(self) -> None:
        """Wave by wave, the last started first, so that last results still find a coordinator. Nobody plans meanwhile:
        it would be for executors that are gone.
        """
        self._phase = "stopping"
        self.keeping.hold_back()
        if any(not keeper.is_down for keeper in self.keeping.keepers.values()):
            self.tell("up", "stopping; Ctrl+C again to stop at once")
        for keeper in self.keeping.keepers.values():
            if keeper.resource.kind is Kind.COORDINATOR:
                keeper.want_aside()
        for wave in reversed(self._topology.waves()):
            keepers = [self.keeping.keepers[name] for name in wave]
            for keeper in keepers:
                keeper.want_stop()
            await self._until_down(keepers)
        if self._now.is_set():
            await self._kill_all()
        self.tell("up", "all stopped")

    async def _until_down(self, keepers: list[Keeper]) -> None:
        """Down, or not waited for any longer."""
        await self._until(lambda: self._now.is_set() or all(keeper.is_down for keeper in keepers))

    async def _kill_all(self) -> None:
        for keeper in self.keeping.keepers.values():
            keeper.want_stop()
            keeper.kill()
        children = [keeper.child for keeper in self.keeping.keepers.values() if keeper.child is not None]
        await asyncio.gather(*(child.wait() for child in children))

    async def _until(self, holds: Callable[[], bool]) -> None:
        while True:
            self.keeping.changed.clear()
            self._write_standing()
            if holds():
                return
            await self._clock.sleep_unless(self.keeping.changed, _LOOK_EVERY)

    # --- through the API

    async def _first_jobs(self) -> Made:
        url = self._topology.of(Kind.COORDINATOR)[0].url
        api = await asyncio.to_thread(self._sign_in, url)
        expected = len(self._topology.of(Kind.AGENT))
        deadline = self._clock.monotonic() + _REGISTERED_WITHIN
        while len((await asyncio.to_thread(api.call, "GET", "/api/v1/executors?limit=200"))["items"]) < expected:
            if self._clock.monotonic() > deadline:
                raise Unavailable("The executors run, but they have not registered.", hint="Their lines say why.")
            await self._clock.sleep_unless(self._stop, _LOOK_EVERY)
            if self._stop.is_set():
                return Made(())
        return await asyncio.to_thread(make_first_jobs, api)

    def _sign_in(self, url: str) -> AdminApi:
        """By the first password; when somebody has changed that, by a token of our own: whoever hosts the processes has
        their store.
        """
        api, store = AdminApi(url, self._web.pool), self._manner.store_url
        if store is None or not self._password_changed:
            self._password_changed = not api.sign_in(_ADMIN, self._manner.password)
        if store is None or not self._password_changed:
            return api
        with self._making_token:  # those who look and those who make the first jobs come at the same time
            return AdminApi(url, self._web.pool, self._own_token(store, self._clock.now()))

    def _own_token(self, store: str, now: int) -> str:
        from orth.coordinator.tokens import token_at  # the database's drivers take their time

        if self._token is None or now > self._token_made + _TOKEN_LASTS // 2:
            self._token_made = now
            self._token = token_at(store, _ADMIN, _BY_UP, lasts_ms=_TOKEN_LASTS, now=now)
        return self._token

    def _ready_urls(self) -> list[str]:
        ready = {one.resource.url for one in self.keeping.keepers.values() if one.state is State.RUNNING}
        return [url for url in self._topology.api_urls if url in ready]

    # --- what is shown

    def snapshot(self) -> Snapshot:
        now, sight = self._clock.monotonic(), self.looking.sight
        return Snapshot(
            name=self._topology.name,
            version=__version__,
            phase=self._phase,
            folder=str(self._place.folder),
            kept=self._manner.kept,
            console=self._topology.console_url,
            api=self._topology.api_urls[0],
            rows=tuple(row_of(keeper, sight, now) for keeper in self.keeping.keepers.values()),
            notes=self._notes,
        )

    def tell(self, name: str, text: str) -> None:
        """Show a line and keep it."""
        line = Line.of(name, text)
        self._lines.add(line)
        self._file.add(line)
        if self._manner.screen or self._manner.quiet or self._unheard:
            return
        shown = line.plain(self._width)
        if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
            names = [one.name for one in self._topology.resources]
            colour = _COLOURS[names.index(name) % len(_COLOURS)] if name in names else 1
            head, bar, text = shown.partition("|")
            shown = f"\x1b[{colour}m{head}{bar}\x1b[0m{text}"
        try:
            sys.stdout.write(shown + "\n")
            sys.stdout.flush()
        except OSError:
            self._unheard = True
            silence(sys.stdout)
            self.go_down(False)

    def _welcome(self, took: float) -> None:
        api, folder = self._topology.of(Kind.COORDINATOR)[0].url, self._place.folder
        self.tell("up", f"ready after {took:.1f} s: API at {api}, state in {folder}")
        for console in self._topology.of(Kind.CONSOLE):
            self.tell("up", f"console at {console.url}{console.lacking and f': {console.lacking}'}")
        where = "is the one you chose" if self._password_changed else f"is in {self._manner.password_file}"
        self.tell("up", f"sign in as admin; the password {where}")

    def _tell_link(self) -> None:
        if self._manner.store_url is None:
            return
        from orth.coordinator.signing_in.links import link_at, link_url  # the database's drivers take their time

        try:
            token = link_at(self._manner.store_url, _ADMIN, _BY_UP, self._clock.now())
        except OrthError as error:
            self.tell("up", f"there is no link to sign in with: {error}")
            return
        self.tell("up", f"or open this within 15 minutes, once: {link_url(self._topology.console_url, token)}")

    def _hosts_advice(self) -> list[str]:
        hosts = self._topology.hosts
        if not hosts:
            return []
        return ["these names do not lead here, so 127.0.0.1 is used; to change that, add to /etc/hosts:", *hosts]

    def _write_standing(self) -> None:
        pids = {name: one.child.pid for name, one in self.keeping.keepers.items() if one.child is not None}
        if self._standing is None or self._standing.pids != pids:
            started_at = iso(self._clock.now()) if self._standing is None else self._standing.started_at
            standing = Standing(os.getpid(), started_at, pids)
            with suppress(OSError):  # a full disk is no reason to end what runs; it is tried again
                self._place.write(standing)
                self._standing = standing

    def farewell(self) -> str:
        """What is left on the terminal when the picture is gone."""
        told = [line.text for line in self._lines if line.name == "up"]
        return "\n".join([*self.keeping.troubles, *told[-1:]])

    # --- wishes

    async def carry_out(self, wish: Wish) -> str:
        """Do what a person asks for; a sentence about it."""
        if wish.do is Do.QUIT:
            self.go_down(False)
            return "stopping"
        if wish.do is Do.OPEN:
            return await asyncio.to_thread(open_console, self._topology.console_url)
        if wish.do is Do.TRIGGER:
            return await asyncio.to_thread(self._trigger)
        keeper = self.keeping.keepers.get(wish.name)
        if keeper is None:
            raise NotFound("resource", wish.name)
        said = _carried_out(keeper, wish.do)
        self.tell("up", f"asked: {said}")
        self.keeping.wake()
        return said

    def _trigger(self) -> str:
        for url in self._ready_urls():
            return trigger_one(self._sign_in(url))
        raise Unavailable("No coordinator is ready.")


def _carried_out(keeper: Keeper, do: Do) -> str:
    name = keeper.resource.name
    if do is Do.RESTART:
        keeper.want_restart()
        return f"restart {name}"
    if do is Do.KILL:
        keeper.kill()
        return f"kill {name}"
    if do is Do.DRAIN:
        keeper.want_stop(drain=True)
        return f"drain {name}"
    if do is Do.START or (do is Do.STOP_OR_START and keeper.state is State.STOPPED):
        keeper.want_start()
        return f"start {name}"
    keeper.want_stop()  # also one that is down and would be started by itself
    return f"stop {name}"


def table_of(shown: Snapshot) -> str:
    """The table and what is to be said below it, for a pipe."""
    return "\n".join([plain_table(shown.rows), *([""] if shown.notes else []), *shown.notes])
