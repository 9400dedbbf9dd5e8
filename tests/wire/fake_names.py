"""A lookup of names with answers of the test's choice, in which the names of some domains hang until the test ends."""

import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import ip_address

from orth.clock import Clock
from orth.wire.resolver import HostAddress, Resolver, ResolverLimits, domain_of

LONG = ResolverLimits(deadline=60.0, refresh_deadline=60.0)
"""For callers that get an answer, on a machine that is busy."""


class FakeNames:
    """What a resolver asks. Names of ``evil.example``, ``evil1.example`` and so on hang."""

    def __init__(self, answers: Mapping[str, Sequence[str]]) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []
        self.hanging: list[str] = []
        self.failure = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        """Of a name without an answer."""
        self.released = threading.Event()

    def __call__(self, name: str) -> list[HostAddress]:
        self.asked.append(name)
        if domain_of(name).startswith("evil"):
            self.hanging.append(name)
            self.released.wait(60)
            self.hanging.remove(name)
        if name not in self.answers:
            raise self.failure
        return [address_of(ip) for ip in self.answers[name]]


def address_of(ip: str) -> HostAddress:
    return HostAddress(socket.AF_INET if ip_address(ip).version == 4 else socket.AF_INET6, ip)


@contextmanager
def faked(
    answers: Mapping[str, Sequence[str]] | None = None, limits: ResolverLimits = LONG, clock: Clock | None = None
) -> Iterator[tuple[FakeNames, Resolver]]:
    """Names, and a resolver that asks them."""
    names = FakeNames(answers or {})
    try:
        yield names, Resolver(names, clock, limits)
    finally:
        names.released.set()
