"""Whether the ports of the settings are free, or who has them."""

import errno
import socket
from pathlib import Path

from orth.doctor.answering import who_answers
from orth.doctor.asking import NoAnswer, Silence
from orth.doctor.case import Case
from orth.doctor.listeners import who_listens
from orth.doctor.verdicts import Verdict, bad, ok, warn
from orth.settings import Address

_OURS = ("a coordinator", "an executor")
_UNTRUSTED = "somebody unknown"


def configured_ports(case: Case) -> list[str]:
    """Where processes of these settings listen, as ``HOST:PORT``."""
    if case.listening:
        return list(case.listening)
    settings = case.settings
    listened = [settings.coordinator.listen]
    listened += [settings.executor.listen] if settings.executor.transport == "push" else []
    return list(dict.fromkeys(map(str, listened)))


def look_at_port(case: Case, written: str) -> list[Verdict]:
    listen = Address.parse(written)
    if listen.port == 0:
        return [ok(f"{listen}: any free port is taken.")]
    trouble = _trouble(listen)
    if trouble is None and case.listening:
        return [bad(f"Nobody listens on {listen}, where orth up has a process.", "See what became of it: orth ps")]
    if trouble is None:
        return [ok(f"{listen} is free.")]
    if trouble == errno.EADDRINUSE:
        return [_taken(case, listen)]
    if trouble == errno.EACCES:
        return [bad(f"{listen}: this user may not listen there.", "Choose a port above 1023, or grant the right.")]
    if trouble == errno.EADDRNOTAVAIL:
        return [bad(f"{listen}: this machine has no such address.", "Choose one of its own, or 0.0.0.0 for all.")]
    return [
        warn(f"{listen} cannot be listened on ({errno.errorcode.get(trouble, 'its name?')}).", "Correct the address.")
    ]


def _trouble(listen: Address) -> int | None:
    """Why nobody could begin to listen there now. Bound and never listened on, so that nobody is kept out by it."""
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((listen.host, listen.port))
        except socket.gaierror:
            return errno.EINVAL
        except OSError as error:
            return error.errno or errno.EINVAL
    return None


def _taken(case: Case, listen: Address) -> Verdict:
    holder = who_listens(listen.port)
    by = f"by {holder}" if holder else "by another network namespace or user"
    who = _who(listen, case.ca_file)
    if who in _OURS:
        return ok(f"{listen} is taken {by}: {who} of Orth answers there.")
    if who == _UNTRUSTED:
        return warn(f"{listen} is taken {by}, whose certificate is not accepted here.", "See the check certificates.")
    return bad(
        f"{listen} is taken {by}: {who} answers there.",
        f"End that process, or choose another port with --listen {listen.host}:PORT.",
    )


def _who(listen: Address, ca_file: Path | None) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(listen.host, listen.host)  # noqa: S104 - recognised, not bound
    for scheme in ("http", "https"):
        try:
            return who_answers(f"{scheme}://{Address(host, listen.port)}", ca_file)
        except NoAnswer as silent:
            if silent.silence is Silence.CERTIFICATE:
                return _UNTRUSTED
    return "something that speaks no HTTP"
