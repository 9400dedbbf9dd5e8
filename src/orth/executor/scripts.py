"""Scripts: source text that travels with the trigger and runs in an interpreter of its own.

Every kind is off until this executor's own configuration allows it, because whoever may edit a job could then run
anything here. The source is kept in ``gluesource/{job id}_{version}{suffix}``, private to this user, written whole or
not at all, and compared with what the trigger said before its first run here. Before every other run the file must be
the one that was compared, unchanged since, as the file system's own record of changes says; otherwise it is compared
again. Older versions of the job are removed. A test of code has a file of its own.

A script gets the parameter, the shard index and the shard total as arguments, the same and more as variables
(``environment``), and nothing else of the executor's environment than a few harmless names. No shell reads any of it.
What it writes is its log. Exit value 0 is success. Two kinds of lines are understood besides: ``::progress 40/100
loading`` and ``::result three files``.
"""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orth.clock import SystemClock
from orth.domain.jobs import GlueType
from orth.executor.confinement import UNCONFINED, Confinement
from orth.executor.context import JobContext, JobFailed, NotCarriedOut
from orth.executor.environment import variables_of
from orth.executor.exits import Exit
from orth.executor.guard import Standing, standing_of
from orth.executor.guarded_runs import GuardedRuns
from orth.executor.processes import Command, FileChanged, Processes
from orth.executor.requirements import check_installed
from orth.wire.messages import RunRequest

_INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR")
_LOCALE = "LC_"
_PROGRESS = re.compile(r"::progress +(\d+(?:\.\d+)?)(?: */ *(\d+(?:\.\d+)?))? *(.*)")
_RESULT = "::result "
_SETTLED = 1000  # ms
_real = SystemClock()
"""Files are dated by real time, whatever clock the executions have."""
_PLAIN_SHELL = re.compile(r"#! *(/[\w/.-]*/)?(env +)?sh\b")


@dataclass(frozen=True, slots=True)
class Language:
    """A kind of script: how the settings call it, its interpreters in order of preference, and its file's ending."""

    kind: str
    interpreters: tuple[str, ...]
    suffix: str
    options: tuple[str, ...] = ()
    """Of the interpreter. Python keeps what it prints to a pipe until it ends, unless told; the others do not."""


LANGUAGES = {
    GlueType.GLUE_SHELL: Language("shell", ("bash", "sh"), ".sh"),
    GlueType.GLUE_PYTHON: Language("python", ("python3",), ".py", ("-u",)),
    GlueType.GLUE_POWERSHELL: Language("powershell", ("pwsh",), ".ps1", ("-NoProfile", "-NonInteractive", "-File")),
    GlueType.GLUE_NODEJS: Language("nodejs", ("node",), ".js"),
    GlueType.GLUE_PHP: Language("php", ("php",), ".php"),
}


def clean_environment(environ: Mapping[str, str], passed: tuple[str, ...] = ()) -> dict[str, str]:
    """What child processes may see of ``environ``: a few harmless names, and those the settings pass on."""
    allowed = {*_INHERITED, *passed}
    return {name: value for name, value in environ.items() if name in allowed or name.startswith(_LOCALE)}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where child processes run: under which guards, in which folder, with which variables, as whom and how far."""

    processes: Processes
    folder: Path
    environment: Mapping[str, str]
    confinement: Confinement = UNCONFINED


def interpreter_of(language: Language, source: str, python: str | None, path: str | None) -> str | None:
    """The program that reads such a script; ``None`` when it is not installed.

    A shell script that begins with ``#!/bin/sh`` asks for the plain shell, which starts in half the time of bash.
    """
    names = (python or sys.executable,) if language.kind == "python" else language.interpreters
    if language.kind == "shell" and _PLAIN_SHELL.match(source):
        names = ("sh",)
    return next((found for name in names if (found := shutil.which(name, path=path))), None)


def _is_settled(found: os.stat_result) -> bool:
    """Whether a later change would surely show: file systems tell times in steps of some milliseconds."""
    return _real.now() - found.st_ctime_ns // 1_000_000 > _SETTLED


@dataclass(slots=True)
class ScriptFile:
    """The source of one version of a job's script, in the cache."""

    folder: Path
    owner: str
    """The job, or the tests of the job, as file names say it."""
    version: int
    suffix: str
    source: bytes
    readers: int | None = None
    """The group of those who run it, when that is another user."""
    compared: Standing | None = None
    """How the file stood when it was last compared and found right; unless it is too young to tell."""

    @classmethod
    def of(cls, request: RunRequest, language: Language, folder: Path, readers: int | None = None) -> "ScriptFile":
        source = request.glue_source
        if language.kind == "shell":
            source = source.replace("\r\n", "\n").replace("\r", "\n")
        owner = f"{request.job_id}-draft" if request.draft else str(request.job_id)
        return cls(folder, owner, request.glue_updatetime, language.suffix, source.encode(), readers)

    path: Path = field(init=False)

    def __post_init__(self) -> None:
        self.path = self.folder / f"{self.owner}_{self.version}{self.suffix}"

    def ensure(self, tell: Callable[[str], None]) -> Path:
        """The file, holding exactly the source: written if it is missing, or if somebody has changed it."""
        if not self._is_intact():
            if os.path.lexists(self.path):
                tell(f"--- {self.path} does not hold the source that this trigger brought; it is written anew")
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._open_to_readers(self.folder, 0o700, 0o710)
            self._write()
            self._remove_others()
            if not self._is_intact():
                raise NotCarriedOut(f"The script {self.path} changes while it is written: somebody else writes there.")
        return self.path

    def _is_intact(self) -> bool:
        try:
            file = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # not there, or a link
            return False
        with os.fdopen(file, "rb") as opened:
            before = os.fstat(file)
            ours = before.st_uid == os.geteuid() and not before.st_mode & 0o022
            intact = ours and opened.read(len(self.source) + 1) == self.source
            unchanged = standing_of(before) == standing_of(os.fstat(file))
        self.compared = standing_of(before) if intact and unchanged and _is_settled(before) else None
        return intact

    def _write(self) -> None:
        descriptor, name = tempfile.mkstemp(dir=self.folder, prefix=f".{self.owner}_")  # 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(self.source)
                self._open_to_readers(file.fileno(), 0o600, 0o640)
            os.replace(name, self.path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise

    def _open_to_readers(self, path: Path | int, alone: int, shared: int) -> None:
        if self.readers is not None:
            os.chown(path, -1, self.readers)
        os.chmod(path, alone if self.readers is None else shared)

    def _remove_others(self) -> None:
        for other in self.folder.glob(f"{self.owner}_*"):
            if other != self.path:
                with suppress(OSError):
                    other.unlink()


class ScriptPerformer:
    """Runs one version of one script; ``opening`` is the interpreter with its options, ``requirements`` what that is to
    have and this process can see.
    """

    maker = None

    def __init__(
        self, script: ScriptFile, opening: Sequence[str], surroundings: Surroundings, requirements: Sequence[str] = ()
    ) -> None:
        self._requirements = requirements
        self._script = script
        self._opening = opening
        self._surroundings = surroundings
        self._runs = GuardedRuns(surroundings.processes)

    def perform(self, context: JobContext, arguments: dict[str, Any]) -> Any:  # noqa: ARG002  # a script gets text
        if (missing := check_installed(self._requirements)) is not None:
            raise NotCarriedOut(missing)
        output = ScriptOutput(context)
        try:
            ended = self._run(context, output)
        except FileChanged:
            self._script.compared = None
            ended = self._run(context, output)
        if ended.code != 0:
            raise JobFailed(f"{ended}: {output.result}" if output.result else str(ended))
        return output.result

    def _run(self, context: JobContext, output: "ScriptOutput") -> Exit:
        script = self._script
        try:
            if script.compared is None:
                script.ensure(context.run_log.write)
        except OSError as error:
            raise NotCarriedOut(f"The script cannot be kept in {script.folder}: {error.strerror or error}.") from None
        path = str(script.path)
        command = Command(
            argv=[*self._opening, path, context.param, str(context.shard_index), str(context.shard_total)],
            environment={**self._surroundings.environment, **context.secrets, **variables_of(context)},
            folder=self._surroundings.folder,
            unchanged=script.compared and (path, script.compared),
            confinement=self._surroundings.confinement,
        )
        return self._runs.run(context, command, output.take)

    def end(self, context: JobContext, grace: float) -> bool:
        return self._runs.end(context, grace)

    def abandon(self, context: JobContext) -> None:  # noqa: ARG002  # executions share nothing
        return

    def close(self) -> None:
        return


class ScriptOutput:
    """What a script writes: lines for its log, and the two kinds of lines that say more."""

    def __init__(self, context: JobContext) -> None:
        self._context = context
        self.result: str | None = None

    def take(self, lines: list[str]) -> None:
        shown = [line for line in lines if not (line.startswith("::") and self._understood(line))]
        if shown:
            self._context.run_log.write("\n".join(shown))

    def _understood(self, line: str) -> bool:
        if line.startswith(_RESULT):
            self.result = line.removeprefix(_RESULT).strip()
            return True
        progress = _PROGRESS.fullmatch(line)
        if progress is None:
            return False
        done, total, message = progress.groups()
        self._context.progress(float(done), None if total is None else float(total), message)
        return True
