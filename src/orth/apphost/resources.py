"""What ``orth up`` starts, decided before anything is: names, commands, environments, ports, and who waits for whom."""

import errno
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from orth.errors import CannotStart

_PORTS_TRIED = 100
LOOPBACK = "127.0.0.1"


class Kind(StrEnum):
    """What a process is for."""

    REGISTRY = "registry"
    COORDINATOR = "coordinator"
    AGENT = "agent"
    CONSOLE = "console"


@dataclass(frozen=True, slots=True)
class Resource:
    """One process to start. It is ready when its ``health`` answers 200; it is started when all in ``after`` are."""

    name: str
    kind: Kind
    command: tuple[str, ...]
    environment: Mapping[str, str]
    url: str
    port: int
    after: tuple[str, ...] = ()
    patience: float = 20.0
    """Seconds it may take to stop in good order."""
    lacking: str = ""
    """What it cannot do, although it runs."""

    @property
    def health(self) -> str:
        return f"{self.url}/health" if self.kind is Kind.AGENT else f"{self.url}/health/ready"

    @property
    def address(self) -> str:
        """As people see it."""
        return self.url.partition("://")[2]


@dataclass(frozen=True, slots=True)
class Topology:
    """All processes of one ``orth up``, in the order of their start."""

    name: str
    resources: tuple[Resource, ...]
    moved: tuple[str, ...] = ()
    """Sentences about ports that were taken."""
    hosts: tuple[str, ...] = ()
    """Lines for the hosts file that are missing there."""
    ca_file: str | None = None
    """The certificates its addresses are checked against, if they speak TLS."""
    dashboard_port: int | None = None

    def of(self, kind: Kind) -> tuple[Resource, ...]:
        return tuple(one for one in self.resources if one.kind is kind)

    @property
    def api_urls(self) -> tuple[str, ...]:
        """Where the API answers, the likeliest first."""
        kinds = (Kind.COORDINATOR, Kind.CONSOLE, Kind.REGISTRY)
        return tuple(one.url for kind in kinds for one in self.of(kind))

    @property
    def console_url(self) -> str:
        """What a person opens: the console, or a coordinator, which serves it too."""
        return next((one.url for one in (*self.of(Kind.CONSOLE), *self.of(Kind.COORDINATOR))), "")

    def waves(self) -> list[list[str]]:
        """Names by the order of start: each wave waits only for waves before it."""
        waits = {one.name: set(one.after) for one in self.resources}
        found: list[list[str]] = []
        while waits:
            free = [name for name, after in waits.items() if not after & waits.keys()]
            if not free:
                raise CannotStart(f"{', '.join(waits)} wait for each other.", hint="Mend their after().")
            found.append(free)
            for name in free:
                del waits[name]
        return found


class Ports:
    """Hands out free loopback ports, each once, starting where it is asked to."""

    def __init__(self) -> None:
        self._given: set[int] = set()
        self.moved: list[str] = []

    def near(self, wanted: int, name: str) -> int:
        """``wanted`` if it is free, else the next one that is; 0 stands for any."""
        if wanted == 0:
            wanted = _any_free()
        for port in range(wanted, min(wanted + _PORTS_TRIED, 65_536)):
            if port not in self._given and is_free(port):
                if port != wanted and wanted not in self._given:
                    self.moved.append(f"port {wanted} is taken, so {name} uses {port}")
                self._given.add(port)
                return port
        raise CannotStart(f"No port from {wanted} on is free for {name}.", hint="Choose another with --port.")


def host_line(names: Sequence[str]) -> tuple[str, ...]:
    """Lines for the hosts file that lead these names to this machine."""
    return tuple(f"{LOOPBACK} {name}" for name in names)


def leads_here(name: str) -> bool:
    """Whether ``name`` is an address of this machine's loopback."""
    try:
        found = socket.getaddrinfo(name, None, proto=socket.IPPROTO_TCP)
    except (OSError, UnicodeError):
        return False
    return bool(found) and all(str(one[4][0]).startswith("127.") or one[4][0] == "::1" for one in found)


def _any_free() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
    return True
