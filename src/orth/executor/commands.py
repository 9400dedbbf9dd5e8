"""``orth.command``: a handler that runs a program of this machine, for jobs that need no code here.

Off until this executor's settings allow it. The parameter is JSON: ``{"argv": ["/usr/bin/rsync", "-a", …]}`` with
perhaps ``cwd``, ``env`` (added to the few variables every child gets) and ``timeout`` in seconds. No shell is involved;
a pipeline is a script's business. The rest is as for scripts: output is the log, exit value 0 is success, and the end
of the program is the end of everything it has started.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import Field

from orth.domain.scripts import COMMAND
from orth.executor.context import JobContext, JobFailed
from orth.executor.environment import variables_of
from orth.executor.guarded_runs import GuardedRuns
from orth.executor.performers import FunctionPerformer
from orth.executor.processes import Command
from orth.executor.scripts import Surroundings

NAME = COMMAND

Argv = Annotated[list[str], Field(min_length=1)]
Seconds = Annotated[float, Field(gt=0)]


class CommandPerformer(FunctionPerformer):
    """Calls the handler, and can end the program it has started."""

    def __init__(self, function: Callable[..., None], runs: GuardedRuns) -> None:
        super().__init__(function)
        self._runs = runs

    def end(self, context: JobContext, grace: float) -> bool:
        return self._runs.end(context, grace)


def command_handler(surroundings: Surroundings, runs: GuardedRuns, grace: float) -> Callable[..., None]:
    """The function that runs programs in ``surroundings``; ``grace`` lies between SIGTERM and SIGKILL."""

    def command(
        ctx: JobContext,
        argv: Argv,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout: Seconds | None = None,
    ) -> None:
        """Run a program, without a shell."""
        environment = {**surroundings.environment, **ctx.secrets, **variables_of(ctx), **(env or {})}
        program = shutil.which(argv[0], path=environment.get("PATH"))
        if program is None:
            raise JobFailed(f"There is no program {argv[0]} here.")
        folder = surroundings.folder / (cwd or "")
        asked = Command(
            argv=[str(Path(program).absolute()), *argv[1:]],
            environment=environment,
            folder=folder,
            limit=timeout,
            grace=grace,
            confinement=surroundings.confinement,
        )
        ended = runs.run(ctx, asked, lambda lines: ctx.run_log.write("\n".join(lines)))
        if ended.overdue:
            ctx.timed_out(f"The command took longer than its limit of {timeout:g} s.")
        elif ended.code != 0:
            raise JobFailed(str(ended))

    return command
