"""From which network addresses the beats of each executor arrive at this coordinator.

A result without a report key is accepted from where the beats of its executor arrive, and not from where only the beats
of others do. If the registered address of an executor has an IP address, that is known too. It alone decides that a
sender is elsewhere only when a beat would have arrived: behind a NAT or a proxy, beats arrive from another address.
"""

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from orth.domain.nodes import normal_address

_EXECUTORS = 10_000
_FIRST_BEATS = 100_000
"""Milliseconds after which each registered executor has sent a beat, or is removed for its silence."""
_SOURCES_EACH = 4
"""Several processes may share one registered address, behind a load balancer for example."""


def _host_of(url: str) -> str | None:
    """The IP address in the URL of an executor; None if the URL has a host name."""
    return plain_address(urlsplit(url).hostname or "")


def plain_address(text: str) -> str | None:
    """An IP address in the one spelling used for comparing; None if it is none. All loopback addresses are one."""
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return "loopback" if found.is_loopback else str(found)


class BeatSources:
    """Remembers the newest sources of each executor, bounded."""

    def __init__(self, since: int) -> None:
        self._since = since
        self._sources: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        """By the URL of the executor. Tuples are replaced, never changed: other threads read them."""
        self._urls: OrderedDict[str, str] = OrderedDict()
        """The newest executor by source."""

    def note(self, url: str, source: str) -> None:
        """A beat of the executor at ``url`` arrived from the network address ``source``."""
        plain, key = plain_address(source), normal_address(url)
        if plain is None:
            return
        others = tuple(one for one in self._sources.get(key, ()) if one != plain)
        self._sources[key] = (*others, plain)[-_SOURCES_EACH:]
        self._urls[plain] = key
        for kept, newest in ((self._sources, key), (self._urls, plain)):
            kept.move_to_end(newest)
            if len(kept) > _EXECUTORS:
                kept.popitem(last=False)

    def is_own(self, url: str, source: str) -> bool:
        """Whether ``source`` is the address of the executor at ``url``, or its beats arrive from there."""
        plain = plain_address(source)
        return plain is not None and plain in (_host_of(url), *self._sources.get(normal_address(url), ()))

    def is_another(self, url: str, source: str) -> bool:
        """Whether ``source`` is known as another executor than the one at ``url``, whose own sources are known too."""
        plain, own = plain_address(source), self._sources.get(normal_address(url))
        return plain is not None and own is not None and plain not in (*own, _host_of(url)) and plain in self._urls

    def is_elsewhere(self, url: str, source: str, now: int) -> bool:
        """Whether it is known where the executor at ``url`` is, and ``source`` is another address."""
        is_known = normal_address(url) in self._sources or (
            _host_of(url) is not None and now - self._since >= _FIRST_BEATS
        )
        return is_known and plain_address(source) is not None and not self.is_own(url, source)
