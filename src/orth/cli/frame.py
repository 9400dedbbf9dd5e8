"""The command ``orth`` and its subcommands, by name only: each is imported when it is called."""

import os
from difflib import get_close_matches
from importlib import import_module
from keyword import iskeyword
from typing import NamedTuple

import click

from orth.cli.failures import report
from orth.standard_descriptors import occupy_standard_descriptors
from orth.version import __version__


class Subcommand(NamedTuple):
    """Where a subcommand is defined, and its line in the list, which must not need the definition."""

    module: str
    summary: str


SUBCOMMANDS = {
    "up": Subcommand("orth.cli.up", "Start registry, coordinators, console and executors here."),
    "ps": Subcommand("orth.cli.ps", "Show what `orth up` runs here."),
    "logs": Subcommand("orth.cli.logs", "Show the lines of all processes of `orth up`, or of one."),
    "down": Subcommand("orth.cli.down", "Stop what `orth up` runs here, in good order."),
    "server": Subcommand("orth.cli.server", "Run a coordinator."),
    "executor": Subcommand("orth.cli.executor", "Run an executor for the jobs of a file or module."),
    "run": Subcommand("orth.cli.run", "Carry out one handler here, without a coordinator."),
    "job": Subcommand("orth.cli.job", "Look after jobs and trigger them."),
    "group": Subcommand("orth.cli.group", "List, create, edit and delete groups of executors."),
    "script": Subcommand("orth.cli.script", "Look after the code of jobs: edit it, compare versions, try it."),
    "exec": Subcommand("orth.cli.exec", "Look at executions, and end them."),
    "stats": Subcommand("orth.cli.stats", "Show how executions ended, in numbers."),
    "cluster": Subcommand("orth.cli.cluster", "Look at the coordinators, and ask them to step back."),
    "executors": Subcommand("orth.cli.executors", "List, drain, resume, admit and revoke executors."),
    "events": Subcommand("orth.cli.events", "Show what happens to coordinators and executors."),
    "alarm": Subcommand("orth.cli.alarm", "Look after alarms: what was told, by which channels, and silences."),
    "secret": Subcommand("orth.cli.secret", "Look after secrets that jobs name."),
    "audit": Subcommand("orth.cli.audit", "Look at who did what, and whether the record of it is whole."),
    "user": Subcommand("orth.cli.user", "Look after people: who may sign in, and what they may."),
    "token": Subcommand("orth.cli.token", "Look after tokens: of programs that use the API, and of executors."),
    "login": Subcommand("orth.cli.login", "Sign in to a coordinator and remember it."),
    "logout": Subcommand("orth.cli.login", "End the sign-in to a coordinator and forget it."),
    "export": Subcommand("orth.cli.definitions", "Write definitions of jobs as JSON, code included."),
    "plan": Subcommand("orth.cli.definitions", "Show what `orth apply` would do, and change nothing."),
    "apply": Subcommand("orth.cli.definitions", "Make and change jobs by their definitions."),
    "import": Subcommand("orth.cli.import_xxl_job", "Take over the jobs of another scheduler."),
    "config": Subcommand("orth.cli.config", "Show and check settings."),
    "db": Subcommand("orth.cli.db", "Look after the database."),
    "doctor": Subcommand("orth.cli.doctor", "Look for what usually goes wrong, and say what to do."),
}
ALIASES = {"agent": "executor"}


class LazyGroup(click.Group):
    """A group that knows its subcommands from ``SUBCOMMANDS``; the attribute has the name of the command, with an
    underscore after it if Python has that name for itself.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in SUBCOMMANDS:
            return None
        attribute = f"{name}_" if iskeyword(name) else name
        command = getattr(import_module(SUBCOMMANDS[name].module), attribute)
        assert isinstance(command, click.Command), name
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and self.get_command(ctx, name) is None:
            guesses = get_close_matches(name, [*SUBCOMMANDS, *ALIASES], n=1)
            ctx.fail(f"No such command {name!r}." + "".join(f" Did you mean {guess!r}?" for guess in guesses))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Commands"):
            formatter.write_dl([(name, subcommand.summary) for name, subcommand in SUBCOMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="orth", message="%(prog)s %(version)s")
def orth() -> None:
    """Orth: the scheduler you can prove.

    Try it with `orth up`. Every command explains itself with --help.
    """


def main() -> int:
    """Run the command line; the result is the exit code."""
    occupy_standard_descriptors()
    try:
        orth.main(prog_name="orth")
    except Exception as error:
        return report(error, debug=os.environ.get("ORTH_DEBUG") == "1")
