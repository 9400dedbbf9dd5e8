"""What child processes may use of this machine, and as whom they run.

Limits are the kernel's own (``setrlimit``), soft and hard: a program can lower them further and nobody raises them
again. ``memory`` is address space. ``processes`` counts everything of the same user and does not bind root, so it is of
use together with a user of its own for scripts. A user of its own also keeps scripts from the executor's files, its
environment and its processes; only root can change to one. It does not keep scripts from each other: processes of one
user can read each other's environment, and ``PR_SET_DUMPABLE`` does not survive ``execve``.

Guards take this on between fork and exec, in the child (see ``guard``); commands without any of it are started in a
cheaper way.
"""

import math
import os
import pwd
import resource
import signal
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from orth.errors import CannotStart
from orth.executor.frames import Message
from orth.executor.prctl import gain_no_privileges

_RESOURCES = {
    "cpu": resource.RLIMIT_CPU,
    "memory": resource.RLIMIT_AS,
    "file_size": resource.RLIMIT_FSIZE,
    "processes": resource.RLIMIT_NPROC,
    "open_files": resource.RLIMIT_NOFILE,
}
_CPU_GRACE = 1
"""Seconds between SIGXCPU, which can be caught, and SIGKILL."""

CATCHABLE = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}

Limits = Mapping[str, int]
"""How much of each, by the names of ``_RESOURCES``: seconds, bytes or a number of them."""


class Identity(NamedTuple):
    """A user that child processes run as."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str

    @property
    def variables(self) -> dict[str, str]:
        return {"HOME": self.home, "USER": self.name, "LOGNAME": self.name}


@dataclass(frozen=True, slots=True)
class Confinement:
    """The limits of child processes, and their user if that is not the executor's own."""

    limits: Limits = field(default_factory=dict)
    identity: Identity | None = None

    @property
    def message(self) -> dict[str, Any] | None:
        """What a guard is told; None when there is nothing to be done."""
        if not self.limits and self.identity is None:
            return None
        whose = None if self.identity is None else [self.identity.uid, self.identity.gid, *self.identity.groups]
        return {"limits": dict(self.limits), "whose": whose}


NO_LIMITS: Limits = {}
UNCONFINED = Confinement()


def limits_of(said: Iterable[str]) -> Limits:
    """The limits that a setting lists as ``name=number``."""
    pairs = (entry.partition("=") for entry in said)
    return {name: int(number) for name, _, number in pairs}


def identity_of(user: str | None) -> Identity | None:
    """The user that a setting names; None for the executor's own. ``CannotStart`` when it cannot be that one."""
    if user is None:
        return None
    try:
        found = pwd.getpwnam(user)
    except KeyError:
        raise CannotStart(f"There is no user {user} here.", hint="Mend executor.script_user.") from None
    if found.pw_uid == os.geteuid():
        return None
    if os.geteuid() != 0:
        raise CannotStart(
            f"Only root can run scripts as {user}.",
            hint="Start the executor as root, or leave executor.script_user out and set "
            "executor.scripts_share_user = true.",
        )
    groups = os.getgrouplist(user, found.pw_gid)
    return Identity(user, found.pw_uid, found.pw_gid, tuple(groups), found.pw_dir)


def check_user(scripts: Iterable[str], builtin: Iterable[str], identity: Identity | None) -> None:
    """``CannotStart`` if code of jobs would run as the executor's own user: that user can read the executor's token and
    the secrets of other jobs, so whoever may edit one job would have them.
    """
    if "glue" in scripts:
        raise CannotStart(
            "GLUE runs inside this executor and can read its token and the secrets of other jobs.",
            hint="Take glue out of executor.scripts, or accept this with executor.scripts_share_user = true.",
        )
    kinds = [*scripts, *(["command"] if "command" in builtin else [])]
    if kinds and identity is None:
        raise CannotStart(
            f"Code of jobs ({', '.join(kinds)}) would run as the user of this executor, who can read its token and the "
            "secrets of other jobs.",
            hint="Start the executor as root and set executor.script_user to another user, or accept this with "
            "executor.scripts_share_user = true. Scripts of one user can read each other's secrets: use one "
            "script_user for each group on this machine.",
        )


def let_in(folder: Path, identity: Identity) -> None:
    """Let ``identity`` pass through ``folder``, which is ours, without seeing what is in it.

    ``CannotStart`` when it may not enter one of the folders above.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.chown(folder, -1, identity.gid)
    folder.chmod(0o710)
    for parent in folder.absolute().parents:
        found = parent.stat()
        enters = found.st_mode & 0o001 or (found.st_gid in identity.groups and found.st_mode & 0o010)
        if found.st_uid != identity.uid and not enters:
            raise CannotStart(
                f"{identity.name} cannot enter {parent}, and so cannot read scripts below it.",
                hint="Choose another executor.data_dir, such as /var/lib/orth, or open that folder with chmod o+x.",
            )


def become_command(message: Message, output: int, telling: int) -> NoReturn:
    """In a forked child: start the command in its place. What fails is told, and nothing of this process is left."""
    try:
        os.setsid()
        for number in CATCHABLE:
            with suppress(OSError, ValueError):  # two are the C library's own
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        for source, place in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, place)
        _confine(message["confined"])
        gain_no_privileges()
        os.execve(message["argv"][0], message["argv"], message["env"])  # noqa: S606  # without a shell: as it is meant
    except BaseException as error:
        told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        os.write(telling, (told or type(error).__name__).encode())
    finally:
        os._exit(127)


def _confine(message: Mapping[str, Any]) -> None:
    """Take it on, in this process and for good."""
    impose(message["limits"])
    whose = message["whose"]
    if whose is not None:
        uid, gid, *groups = whose
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)


def impose(limits: Limits) -> None:
    for name, most in limits.items():
        kind = _RESOURCES[name]
        _, hard = resource.getrlimit(kind)
        beyond = most + _CPU_GRACE if name == "cpu" else most
        least = beyond if hard == resource.RLIM_INFINITY else min(beyond, hard)
        resource.setrlimit(kind, (min(most, least), least))


def grant_cpu(seconds: int) -> None:
    """Let this process use so much more processor time than it has used; what one execution may, in a worker."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used.ru_utime + used.ru_stime) + seconds, hard))
