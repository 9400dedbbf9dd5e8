"""All checks by name, and running them: every subject on a thread of its own, each with a few seconds."""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue

from orth.clock import Clock
from orth.doctor.answering import look_at_registry, look_at_services
from orth.doctor.case import Case
from orth.doctor.certificates import configured_certificates, look_at_certificate
from orth.doctor.choices import look_at_channels, look_at_settings
from orth.doctor.clocks import look_at_clock
from orth.doctor.databases import look_at_store
from orth.doctor.machine import data_folders, look_at_disk, look_at_open_files, look_at_time_zones
from orth.doctor.names import configured_names, look_at_name
from orth.doctor.origins import look_at_origins
from orth.doctor.package import look_at_console, look_at_package
from orth.doctor.ports import configured_ports, look_at_port
from orth.doctor.redis_server import look_at_redis
from orth.doctor.tokens import look_at_access_token, look_at_api_token
from orth.doctor.verdicts import Verdict, bad, warn

PATIENCE = 8.0
"""Seconds for all of it; what has not answered by then is a verdict too."""

Subjects = Callable[[Case], Iterable[str]]
Look = Callable[[Case, str], list[Verdict]]


def _once(_case: Case) -> tuple[str]:
    return ("",)


def _registries(case: Case) -> Iterable[str]:
    return case.registries


def _first_registry(case: Case) -> Iterable[str]:
    """What all of them know is asked of one."""
    return case.registries[:1]


def _first_coordinator(case: Case) -> Iterable[str]:
    return case.coordinators[:1]


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at: what it tells, its subjects, and how one of them is looked at."""

    summary: str
    look: Look
    subjects: Subjects = _once
    of_machine: bool = False
    """It makes sense also when the settings cannot be read."""


CHECKS: dict[str, Check] = {
    "settings": Check("the settings can be read and fit together", look_at_settings, of_machine=True),
    "registry": Check("coordinators and the registry answer", look_at_registry, lambda case: case.answerers),
    "services": Check("services have registered and live", look_at_services, _first_registry),
    "names": Check("configured names resolve", look_at_name, configured_names),
    "ports": Check("ports are free, or who has them", look_at_port, configured_ports),
    "certificates": Check("certificates are there and good", look_at_certificate, configured_certificates),
    "clock": Check("the coordinators' clocks agree with this one", look_at_clock, lambda case: case.answerers),
    "origins": Check("the console's page may open the live socket", look_at_origins, _registries),
    "tokens": Check("the access token is accepted", look_at_access_token, _registries),
    "sign-in": Check("the API token is accepted", look_at_api_token, _first_coordinator),
    "store": Check("the database answers, with the right schema", look_at_store),
    "redis": Check("Redis answers and keeps messages", look_at_redis),
    "channels": Check("the channels fit the store", look_at_channels),
    "package": Check("no other project has replaced Orth here", look_at_package, of_machine=True),
    "console": Check("the console is built", look_at_console, of_machine=True),
    "files": Check("enough files may be open", look_at_open_files, of_machine=True),
    "disk": Check("data directories have room", look_at_disk, data_folders),
    "zones": Check("time zones are known", look_at_time_zones, of_machine=True),
}


def examine(case: Case, names: Iterable[str] = CHECKS, *, patience: float = PATIENCE) -> list[Verdict]:
    """The verdicts of these checks, in the order of ``CHECKS``, within ``patience`` seconds. If the settings cannot be
    their check is made whatever was asked for, and the last verdict names the checks that were not made.
    """
    wanted = set(names) | ({"settings"} if case.bad_settings else set())
    left_out = [name for name, check in CHECKS.items() if name in wanted and case.bad_settings and not check.of_machine]
    chosen = [name for name in CHECKS if name in wanted and name not in left_out]
    looks = [_Look(case, name, subject) for name in chosen for subject in CHECKS[name].subjects(case)]
    until = case.clock.monotonic() + patience
    found = [verdict for look in looks for verdict in look.verdicts(until, case.clock)]
    return [*found, *([_not_made(left_out)] if left_out else [])]


def _not_made(names: Sequence[str]) -> Verdict:
    what = f"Not checked while the settings are wrong: {', '.join(names)}."
    return replace(warn(what, "Correct the settings, then run orth doctor again."), check="settings")


class _Look:
    """One subject being looked at. The thread is not waited for longer than the patience: a name that is being resolved
    cannot be interrupted.
    """

    def __init__(self, case: Case, name: str, subject: str) -> None:
        self._case, self._name, self._subject = case, name, subject
        self._found: SimpleQueue[list[Verdict]] = SimpleQueue()
        threading.Thread(target=self._run, name=f"doctor-{name}", daemon=True).start()

    def verdicts(self, until: float, clock: Clock) -> list[Verdict]:
        try:
            found = self._found.get(timeout=max(0.0, until - clock.monotonic()))
        except Empty:
            found = [bad(f"{self._about}it took too long to look at.", "Look again with --check; is the network slow?")]
        return [
            replace(one, check=self._name, what=self._case.hide(one.what), next=self._case.hide(one.next))
            for one in found
        ]

    @property
    def _about(self) -> str:
        return f"{self._subject}: " if self._subject else ""

    def _run(self) -> None:
        try:
            found = CHECKS[self._name].look(self._case, self._subject)
        except Exception as error:  # a verdict, not a traceback: the other checks have something to say
            what = f"{self._about}the check itself failed with {type(error).__name__}: {error}"
            found = [bad(what, "This is a bug of orth doctor: please report it.")]
        self._found.put(found)
