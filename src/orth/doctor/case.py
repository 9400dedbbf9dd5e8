"""What is examined: the settings, a clock, and the credentials this machine has."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from orth.clock import Clock
from orth.errors import CannotStart
from orth.executor.settings import access_token
from orth.settings import Settings
from orth.settings.values import HIDDEN, hide_passwords

_SHORTEST_SECRET = 4
"""A shorter one is not replaced: it would turn up in words that have nothing to do with it."""


@dataclass(frozen=True, slots=True)
class Case:
    """One examination. ``api_token`` is what commands show to ``server``, if there is any."""

    settings: Settings
    clock: Clock
    server: str | None = None
    api_token: str | None = None
    ca_file: Path | None = None
    """An authority to trust besides those of this machine."""
    listening: tuple[str, ...] = ()
    """Where the processes of the ``orth up`` of this folder listen, if that is what is examined; else the settings say
    where."""
    bad_settings: tuple[str, ...] = ()
    """Why the settings could not be read; then ``settings`` are the defaults, and only the machine is looked at."""

    @property
    def coordinators(self) -> tuple[str, ...]:
        """Where coordinators are said to be, each once."""
        configured = () if self.listening else self.settings.executor.coordinators
        named = (*((self.server,) if self.server else ()), *configured)
        return tuple(dict.fromkeys(_root(url) for url in named))

    @property
    def registries(self) -> tuple[str, ...]:
        """Where services register: ``registry.url``, else the coordinators."""
        url = self.settings.registry.url
        return (url.rstrip("/"),) if url else self.coordinators

    @property
    def answerers(self) -> tuple[str, ...]:
        """Everybody who is said to be a coordinator or a registry."""
        return tuple(dict.fromkeys((*self.registries, *self.coordinators)))

    def access_token(self) -> str:
        """What executors show; ``CannotStart`` says why there is none."""
        return access_token(self.settings)

    def credential(self) -> str | None:
        """Something a coordinator takes for reading."""
        if self.api_token:
            return self.api_token
        try:
            return self.access_token()
        except CannotStart:
            return None

    def hide(self, text: str) -> str:
        """``text`` without any secret known here."""
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return hide_passwords(text)

    def _secrets(self) -> set[str]:
        return {secret for secret in self._candidates() if len(secret) >= _SHORTEST_SECRET}

    def _candidates(self) -> Iterator[str]:
        security, alarms = self.settings.security, self.settings.alarms
        for given in (security.access_token, security.admin_password, alarms.smtp_password):
            if given is not None:
                yield given.get_secret_value()
        yield self.credential() or ""
        yield self.api_token or ""
        for url in (self.settings.store.url, self.settings.channels.url):
            yield from _passwords(url or "")


def _passwords(url: str) -> tuple[str, ...]:
    """The password in a URL, as it is written and as it is meant."""
    try:
        password = urlsplit(url).password or ""
    except ValueError:
        return ()
    return password, unquote(password)


def _root(url: str) -> str:
    """A coordinator's address without the prefix of the executor API, with which other clients spell it."""
    address = url.rstrip("/")
    for prefix in ("/xxl-job-admin", "/orth-admin"):
        address = address.removesuffix(prefix)
    return address
