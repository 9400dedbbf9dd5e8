"""Which processes there are and who waits for whom: as an ``apphost.py`` or the settings have it, and then with
everything each process must know.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orth.apphost.resources import LOOPBACK, Kind, Ports, Resource, Topology, host_line, leads_here
from orth.distribution import has_console, lacking_console
from orth.errors import CannotStart
from orth.settings import Settings

DEMO = "orth.apphost.demo"
DASHBOARD = "dashboard"
_ORTH = (sys.executable, "-m", "orth")
_MORE_PATIENCE = 25.0
"""Seconds beyond its own bound in which a process still ends by itself: 20 for a coordinator."""


class Part:
    """Some processes of one kind."""

    def __init__(self, name: str, kind: Kind, count: int, port: int, target: str = "") -> None:
        self.name = name
        self.kind = kind
        self.count = count
        self.port = port
        self.target = target
        self.awaited: list[Part] = []
        self.variables: dict[str, str] = {}

    def after(self, *parts: "Part") -> "Part":
        """Start these only when all of ``parts`` are ready."""
        self.awaited.extend(parts)
        return self

    def env(self, **variables: str) -> "Part":
        """Give these variables to each of them."""
        self.variables.update(variables)
        return self

    def names(self) -> list[str]:
        single = self.kind in (Kind.REGISTRY, Kind.CONSOLE)
        return [self.name] if single else [f"{self.name}-{number}" for number in range(1, self.count + 1)]


@dataclass(frozen=True, slots=True)
class Ground:
    """What all processes of one ``orth up`` share."""

    settings: Settings
    folder: Path
    admin_password: str
    certificates: "Certificates | None" = None
    log_level: str | None = None


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files for TLS: of the authority, of all that are trusted, and of what it vouches for."""

    ca: Path
    trusted: Path
    certificate: Path
    key: Path


class Layout:
    """The processes to start, kind by kind."""

    def __init__(self, name: str = "orth") -> None:
        self.name = name
        self.parts: list[Part] = []

    def registry(self, *, port: int = 5060) -> Part:
        """A process that serves the Registry API and nothing else."""
        return self._add(Part("registry", Kind.REGISTRY, 1, port))

    def coordinators(self, count: int, *, port: int = 5080) -> Part:
        """Coordinators, on ports from ``port`` on."""
        return self._add(Part("coordinator", Kind.COORDINATOR, count, port))

    def agents(self, count: int, *, modules: Sequence[str], port: int = 5090, name: str = "agent") -> Part:
        """Executors that run a module or file, on ports from ``port`` on."""
        if len(modules) != 1:
            raise CannotStart(
                f"An executor runs one module, not {len(modules)}.", hint="Call agents(…, name=…) once for each."
            )
        return self._add(Part(name, Kind.AGENT, count, port, modules[0]))

    def console(self, *, port: int = 5070) -> Part:
        """A process that serves the console, and the API for it."""
        return self._add(Part("console", Kind.CONSOLE, 1, port))

    def _add(self, part: Part) -> Part:
        taken = {name for other in self.parts for name in other.names()}
        for name in part.names():
            if name in taken:
                raise CannotStart(f"There are two {name} in {self.name}.", hint="Give one of them another name=.")
        self.parts.append(part)
        return part

    def of(self, kind: Kind) -> list[Part]:
        return [part for part in self.parts if part.kind is kind]


def from_settings(settings: Settings, target: str) -> Layout:
    """What the section ``apphost`` says."""
    own = settings.apphost
    host = Layout()
    registry = [host.registry(port=own.registry_port)] if own.registry else []
    first = settings.coordinator.listen.port if own.coordinator_port is None else own.coordinator_port
    coordinators = host.coordinators(own.coordinators, port=first).after(*registry)
    agents = [host.agents(own.executors, modules=[target], port=own.executor_port).after(coordinators)]
    if own.console:
        host.console(port=own.console_port).after(*agents)  # last: what is to be seen there comes first
    return host


def plan(host: Layout, ground: Ground) -> Topology:
    """The processes of ``host``, each with everything it must know in its environment."""
    if not host.of(Kind.COORDINATOR):
        raise CannotStart(f"{host.name} has no coordinators.", hint="Add host.coordinators(1).")
    return _Planning(host, ground).topology()


class _Planning:
    """One topology in the making."""

    def __init__(self, host: Layout, ground: Ground) -> None:
        self._host = host
        self._ground = ground
        self._ports = Ports()
        self._unknown_hosts: dict[str, None] = {}
        self._places: dict[str, tuple[str, int]] = {}
        for part in host.parts:
            for number, name in enumerate(part.names(), 1):
                port = self._ports.near(part.port and part.port + number - 1, name)
                self._places[name] = (self._url(part.kind, number, port), port)
        self._dashboard_port = self._dashboard()

    def topology(self) -> Topology:
        certificates = self._ground.certificates
        found = Topology(
            self._host.name,
            tuple(self._resource(part, name) for part in self._host.parts for name in part.names()),
            tuple(self._ports.moved),
            host_line([*self._unknown_hosts]),
            None if certificates is None else str(certificates.trusted),
            self._dashboard_port,
        )
        found.waves()  # refuses circles
        return found

    def _dashboard(self) -> int | None:
        own = self._ground.settings.apphost
        if own.dashboard_port is None:
            return None
        name = f"{DASHBOARD}.{own.suffix}"
        if own.suffix is not None and not leads_here(name):
            self._unknown_hosts[name] = None
        return self._ports.near(own.dashboard_port, DASHBOARD)

    def _resource(self, part: Part, name: str) -> Resource:
        url, port = self._places[name]
        environment = {**self._shared(), **self._own(part, name), **part.variables}
        command = (*_ORTH, "executor", part.target) if part.kind is Kind.AGENT else (*_ORTH, "server")
        after = tuple(other for awaited in part.awaited for other in awaited.names())
        lacking = lacking_console() if part.kind is Kind.CONSOLE and not has_console() else ""
        return Resource(name, part.kind, command, environment, url, port, after, self._patience(part.kind), lacking)

    def _shared(self) -> dict[str, str]:
        """What every process is told: where the others are."""
        ground, settings = self._ground, self._ground.settings
        found = {"ORTH_COORDINATOR__DATA_DIR": str(ground.folder)}
        if settings.file is not None:
            found["ORTH_CONFIG"] = str(settings.file)
        if ground.log_level is not None:
            found["ORTH_LOG_LEVEL"] = ground.log_level
        if settings.channels.url is None and settings.store_url.startswith("sqlite"):
            found["ORTH_CHANNELS__URL"] = "database://"  # several processes share the file
        registry = [self._places[name][0] for part in self._host.of(Kind.REGISTRY) for name in part.names()]
        if registry:
            found["ORTH_REGISTRY__URL"] = registry[0]
        if ground.certificates is not None:
            files = ground.certificates
            found |= {
                "ORTH_SECURITY__TLS_CERTIFICATE": str(files.certificate),
                "ORTH_SECURITY__TLS_KEY": str(files.key),
                "SSL_CERT_FILE": str(files.trusted),
            }
        return found

    def _own(self, part: Part, name: str) -> dict[str, str]:
        url, port = self._places[name]
        ground, listen = self._ground, f"{LOOPBACK}:{port}"
        if part.kind is Kind.AGENT:
            coordinators = [self._places[one][0] for part in self._host.of(Kind.COORDINATOR) for one in part.names()]
            return {
                "ORTH_EXECUTOR__LISTEN": listen,
                "ORTH_EXECUTOR__ADDRESS": url,
                "ORTH_EXECUTOR__DATA_DIR": str(ground.folder / name),
                "ORTH_EXECUTOR__COORDINATORS": ",".join(coordinators),
            }
        return {
            "ORTH_COORDINATOR__LISTEN": listen,
            "ORTH_COORDINATOR__URL": url,
            "ORTH_COORDINATOR__ROLES": {Kind.COORDINATOR: "all"}.get(part.kind, part.kind.value),
            "ORTH_COORDINATOR__NODE_ID": name,
            "ORTH_SECURITY__ADMIN_PASSWORD": ground.admin_password,
            "ORTH_APPHOST__KEPT_BY": str(ground.folder),
        }

    def _url(self, kind: Kind, number: int, port: int) -> str:
        own = self._ground.settings.apphost
        scheme = self._ground.settings.security.scheme if self._ground.certificates is None else "https"
        host = LOOPBACK
        if own.suffix is not None:
            host = host_name(self._ground.settings, kind, number)
            if not leads_here(host):
                self._unknown_hosts[host] = None
                host = LOOPBACK
        return f"{scheme}://{host}:{port}"

    def _patience(self, kind: Kind) -> float:
        settings = self._ground.settings
        span = settings.executor.drain_timeout if kind is Kind.AGENT else settings.cluster.handoff_hard_timeout
        return span.total_seconds() + _MORE_PATIENCE


def host_name(settings: Settings, kind: Kind, number: int) -> str:
    """The host name of a process by the settings, with its domain."""
    own = settings.apphost
    first = {
        Kind.REGISTRY: own.registry_host,
        Kind.COORDINATOR: own.coordinator_host,
        Kind.AGENT: f"{own.executor_host}-{number}",
        Kind.CONSOLE: own.console_host,
    }[kind]
    return f"{first}.{own.suffix}"
