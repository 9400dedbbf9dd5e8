"""Whether the names in the settings resolve."""

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from orth.doctor.case import Case
from orth.doctor.verdicts import Verdict, bad, ok, warn
from orth.settings import Settings


def configured_names(case: Case) -> list[str]:
    """Every host that is named, each once; addresses need no resolving."""
    settings = case.settings
    urls = (
        *case.answerers,
        settings.coordinator.url,
        settings.executor.address,
        settings.console.base_url,
        settings.store_url,
        settings.channels_url,
    )
    hosts = [_host(url) for url in urls if url]
    hosts += [settings.coordinator.listen.host, settings.executor.listen.host, settings.alarms.smtp_host or ""]
    hosts += _names_of_up(settings)
    return [host for host in dict.fromkeys(hosts) if host and not _is_address(host)]


def _names_of_up(settings: Settings) -> list[str]:
    """Those that ``orth up`` uses where they lead to this machine."""
    host = settings.apphost
    if not host.suffix:
        return []
    agents = [f"{host.executor_host}-{number}" for number in range(1, host.executors + 1)]
    return [f"{one}.{host.suffix}" for one in (host.registry_host, host.coordinator_host, host.console_host, *agents)]


def look_at_name(case: Case, name: str) -> list[Verdict]:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        step = f"Correct the name, or add it to the hosts file of this machine: 127.0.0.1 {name}."
        if name in _names_of_up(case.settings):
            return [warn(f"{name} does not resolve; orth up uses 127.0.0.1 in its place.", step)]
        return [bad(f"{name} does not resolve.", step)]
    addresses = dict.fromkeys(str(one[4][0]) for one in found)
    return [ok(f"{name} is {', '.join(addresses)}.")]


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
