"""Hosts of their own: network namespaces on one switch, each with an address that the others reach.

Nothing of it touches the network of this machine: the switch is a bridge inside a namespace as well. Code runs on a
host in a thread that has entered its namespace (``Host.do``), a program under ``nsenter`` (``Host.command``), and what
``tests.warm`` starts in ``Host.network``. All of it goes when the network is left; what a killed run has left behind
goes when the next one begins.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Self, TypeVar

from tests.warm.networks import enter

T = TypeVar("T")

_NETNS = Path("/run/netns")
_PREFIX = "orth-test-"
METADATA = "169.254.169.254"
"""Where clouds hand out credentials. The switch has this address, and every host a way to it."""


class Host:
    """A machine, as far as the network goes."""

    def __init__(self, namespace: str, address: str) -> None:
        self.namespace = namespace
        self.address = address
        self.network = _NETNS / namespace
        self._thread = ThreadPoolExecutor(1, initializer=enter, initargs=(self.network,))

    def do(self, deed: Callable[[], T]) -> T:
        """What ``deed`` gives, done on this host."""
        return self._thread.submit(deed).result()

    def command(self, *words: str) -> list[str]:
        """The command line that runs ``words`` on this host, as the very process that is started."""
        return ["nsenter", f"--net={self.network}", "--", *words]

    def close(self) -> None:
        self._thread.shutdown()


class Network:
    """A switch, at which somebody sits who may reach everybody, and hosts around it."""

    def __init__(self) -> None:
        self._name = f"{_PREFIX}{os.getpid()}"
        self.hosts: list[Host] = []

    def __enter__(self) -> Self:
        _remove_left_behind()
        try:
            self.desk = self._namespace(1)
            self._on(self.desk, "link add br0 type bridge")
            self._on(self.desk, "link set br0 up")
            self._on(self.desk, f"address add {self.desk.address}/24 dev br0")
            self._on(self.desk, f"address add {METADATA}/32 dev br0")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        while self.hosts:
            host = self.hosts.pop()
            host.close()
            _ip("netns", "delete", host.namespace)

    def host(self, number: int) -> Host:
        """Another one, on the same network."""
        host = self._namespace(number)
        self._on(self.desk, f"link add port{number} type veth peer name eth0 netns {host.namespace}")
        self._on(self.desk, f"link set port{number} master br0 up")
        self._on(host, f"address add {host.address}/24 dev eth0")
        self._on(host, "link set eth0 up")
        self._on(host, f"route add {METADATA}/32 dev eth0")
        return host

    def _namespace(self, number: int) -> Host:
        host = Host(f"{self._name}-{number}", f"10.66.0.{number}")
        _ip("netns", "add", host.namespace)
        self.hosts.append(host)
        self._on(host, "link set lo up")
        return host

    @staticmethod
    def _on(host: Host, words: str) -> None:
        _ip("-n", host.namespace, *words.split())


class Canary:
    """Somebody who listens where nobody should call, and remembers who did. With ``leads_to``, it sends them on."""

    def __init__(self, host: Host, address: str, port: int = 0, *, leads_to: str = "") -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        """Paths and headers."""
        canary = self

        class Door(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                canary.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                self.send_response(307 if leads_to else 200)
                if leads_to:
                    self.send_header("Location", leads_to)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_PUT = do_POST  # noqa: N815  # as the library wants them

            def log_message(self, *_words: object) -> None:
                return

        self._server = host.do(lambda: ThreadingHTTPServer((address, port), Door))
        self.url = f"http://{address}:{self._server.server_port}"
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def missing() -> str:
    """What is not there that hosts need; empty when all is."""
    programs = [name for name in ("ip", "nsenter", "openssl") if shutil.which(name) is None]
    if programs:
        return f"{', '.join(programs)} not installed (iproute2, util-linux, openssl)"
    probe = f"{_PREFIX}{os.getpid()}-probe"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return f"network namespaces cannot be made here: {made.stderr.strip()}"
    _ip("netns", "delete", probe)
    return ""


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


def _remove_left_behind() -> None:
    """Namespaces of test runs that were killed."""
    for found in _NETNS.glob(f"{_PREFIX}*"):
        pid = found.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdecimal() and not Path(f"/proc/{pid}").exists():
            with suppress(AssertionError):  # somebody else was faster
                _ip("netns", "delete", found.name)
