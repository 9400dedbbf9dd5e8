"""What ``orth up`` starts, decided before anything is: names, commands, environments, ports."""

import errno
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from orth.errors import CannotStart
from orth.settings import Settings

_PORTS_TRIED = 100
_TO_EXECUTORS = 10  # ports from the first coordinator to the first executor: 5080 and 5090, unless told otherwise


@dataclass(frozen=True, slots=True)
class Resource:
    """One process to start. It is ready when ``url`` answers 200."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str]
    url: str


@dataclass(frozen=True, slots=True)
class Topology:
    """All processes of one ``orth up``."""

    coordinators: tuple[Resource, ...]
    executors: tuple[Resource, ...]
    moved: tuple[str, ...]
    """Sentences about ports that were taken."""

    @property
    def coordinator_url(self) -> str:
        return self.coordinators[0].url


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
            if port not in self._given and _is_free(port):
                if port != wanted and wanted not in self._given:
                    self.moved.append(f"port {wanted} is taken, so {name} uses {port}")
                self._given.add(port)
                return port
        raise CannotStart(f"No port from {wanted} on is free for {name}.", hint="Choose another with --port.")


def topology(settings: Settings, folder: Path, target: str, admin_password: str) -> Topology:
    """The processes for these settings, with everything each must know in its environment."""
    ports = Ports()
    first = settings.coordinator.listen.port
    coordinators = tuple(
        _coordinator(number, ports.near(first and first + number - 1, f"coordinator-{number}"), folder, admin_password)
        for number in range(1, settings.apphost.coordinators + 1)
    )
    urls = ",".join(one.url for one in coordinators)
    executors = tuple(
        _executor(
            number, ports.near(first and first + _TO_EXECUTORS + number - 1, f"executor-{number}"), folder, target, urls
        )
        for number in range(1, settings.apphost.executors + 1)
    )
    return Topology(coordinators, executors, tuple(ports.moved))


def _coordinator(number: int, port: int, folder: Path, admin_password: str) -> Resource:
    name = f"coordinator-{number}"
    return Resource(
        name,
        (sys.executable, "-m", "orth", "server"),
        {
            "ORTH_COORDINATOR__LISTEN": f"127.0.0.1:{port}",
            "ORTH_COORDINATOR__NODE_ID": name,
            "ORTH_COORDINATOR__DATA_DIR": str(folder),
            "ORTH_SECURITY__ADMIN_PASSWORD": admin_password,
        },
        f"http://127.0.0.1:{port}",
    )


def _executor(number: int, port: int, folder: Path, target: str, coordinators: str) -> Resource:
    name = f"executor-{number}"
    return Resource(
        name,
        (sys.executable, "-m", "orth", "executor", target),
        {
            "ORTH_EXECUTOR__LISTEN": f"127.0.0.1:{port}",
            "ORTH_EXECUTOR__DATA_DIR": str(folder / name),
            "ORTH_EXECUTOR__COORDINATORS": coordinators,
            "ORTH_COORDINATOR__DATA_DIR": str(folder),
        },
        f"http://127.0.0.1:{port}",
    )


def _any_free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
    return True
