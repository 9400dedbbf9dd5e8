"""What a job author does with handlers at a terminal: run one, list them, see when one would fire.

``python jobs.py run NAME k=v`` and ``orth run jobs.py:NAME k=v`` are the same; only the way to the handler differs.
"""

import sys
from collections.abc import Callable
from typing import Any

import click

from orth.clock import SystemClock
from orth.domain.executions import Status
from orth.errors import Invalid, NotFound
from orth.executor.handlers import Handler, Handlers
from orth.executor.local_run import LocalTrigger, run_locally
from orth.executor.run_options import RunWords, run_options
from orth.executor.upcoming import instant_of, upcoming_fires

EXIT_CODES = {Status.SUCCESS: 0, Status.FAILED: 10, Status.TIMEOUT: 11}
_TERMINAL_COLUMNS = 100


def trigger_of(words: RunWords, handler: Handler) -> LocalTrigger:
    """What the words ask for; the time limit is the handler's own unless they name one."""
    if words.param is not None and words.words:
        raise Invalid("A run takes either k=v or --param, not both.")
    return LocalTrigger(
        text=handler.parameters.text_of_words(words.words) if words.param is None else words.param,
        schedule_time=None if words.schedule_time is None else instant_of(words.schedule_time, handler),
        shard=shard_of(words.shard) if words.shard is not None else (0, 1),
        timeout=handler.proposal.timeout if words.timeout is None else words.timeout,
    )


def shard_of(text: str) -> tuple[int, int]:
    index, slash, total = text.partition("/")
    if not (slash and index.isdecimal() and total.isdecimal() and int(index) < int(total)):
        raise Invalid(f"{text!r} is not a shard.", hint="The first of three is 0/3, the last 2/3.")
    return int(index), int(total)


def run_here(handler: Handler, words: RunWords) -> int:
    """Carry out ``handler`` once, its log on standard output as it comes, then its status; the exit code."""
    report = run_locally(handler, trigger_of(words, handler), echo=_write)
    headline = report.message.partition("\n")[0]
    _write(f"{report.tag}{headline and f'  {headline}'}\n")
    return EXIT_CODES[report.status]


def list_handlers(handlers: Handlers) -> None:
    """A line for each: name, schedule, what it does."""
    listed = [known for name in handlers.names() if (known := handlers.get(name)) is not None]
    wide = max((len(handler.name) for handler in listed), default=0)
    for handler in listed:
        schedule = " ".join(filter(None, (handler.proposal.schedule, handler.proposal.timezone)))
        words = filter(None, (schedule and f"[{schedule}]", handler.info.description))
        line = f"{handler.name:<{wide}}  {' '.join(words)}"
        _write(f"{line[:_TERMINAL_COLUMNS].rstrip()}\n")


def check_handlers(handlers: Handlers, now: int) -> int:
    """List the handlers, and every mistake in what they propose on standard error; the exit code."""
    list_handlers(handlers)
    mistakes = handlers.mistakes(now)
    sys.stderr.writelines(f"orth: {mistake}\n" for mistake in mistakes)
    return 1 if mistakes else 0


def show_next(handler: Handler, count: int, after: str | None) -> None:
    """The next fires, one per line: local time and UTC."""
    since = SystemClock().now() if after is None else instant_of(after, handler)
    for fire in upcoming_fires(handler, count, since):
        _write(f"{fire.local}  {fire.utc}\n")


def named(handlers: Handlers, name: str) -> Handler:
    """The handler people call so; ``NotFound`` lists what there is."""
    found = handlers.find(name)
    if found is None:
        raise NotFound("handler", f"{name}; there are: {', '.join(handlers.names()) or 'none'}")
    return found


def command_line(handlers: Handlers, serve: Callable[[], object]) -> click.Group:
    """The commands of ``app.main()``; without one it serves."""

    @click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
    @click.pass_context
    def group(context: click.Context) -> None:
        """Serve the jobs of this file until stopped, or do what a command says."""
        if context.invoked_subcommand is None:
            serve()

    @group.command("start")
    def start() -> None:
        """Serve until stopped, as without a command."""
        serve()

    @group.command("run")
    @click.argument("name")
    @run_options
    def run(name: str, **words: Any) -> None:
        """Carry out one handler here and now."""
        sys.exit(run_here(named(handlers, name), RunWords(**words)))

    @group.command("list")
    def list_() -> None:
        """List the handlers; exit with 1 if a schedule or limit is wrong."""
        sys.exit(check_handlers(handlers, SystemClock().now()))

    @group.command("next")
    @click.argument("name")
    @click.option("-n", "count", metavar="N", type=click.IntRange(min=1), default=5, help="How many fires.")
    @click.option("--after", metavar="ISO", help="After that time instead of now.")
    def next_(name: str, count: int, after: str | None) -> None:
        """Show when the schedule of a handler would fire."""
        show_next(named(handlers, name), count, after)

    return group


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
