"""``orth events``: what happens to coordinators and executors, as it happens.

The terminal's view of the live socket: registered, unregistered, status changed. With ``-f`` it goes on over broken
connections and ended coordinators, and shows every event once; a note on standard error says when it had to wait.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click

from orth.cli.api_client import ApiChoice, ApiClient, api_options
from orth.errors import ApiProblem, Unavailable

if TYPE_CHECKING:
    from orth.wire.live_calls import LiveLine, LiveMessage

TYPES = tuple(
    f"{kind}_{happening}"
    for kind in ("orchestrator", "agent")
    for happening in ("registered", "unregistered", "status_changed")
)
_COLOURS = {
    "Running": "green",
    "Idle": "green",
    "Busy": "cyan",
    "Failed": "red",
    "Stopping": "yellow",
    "Stopped": "yellow",
}
_WIDTH = max(map(len, TYPES))
_SHOWN_ID = 8
_LONGER = 10


@click.command()
@click.option("-f", "--follow", "following", is_flag=True, help="Go on with what happens, until Ctrl+C.")
@click.option(
    "-n", "--newest", type=click.IntRange(0, 10_000), default=20, show_default=True, help="How many to begin with."
)
@click.option(
    "--type",
    "types",
    type=click.Choice(TYPES, case_sensitive=False),
    multiple=True,
    help="Only this type; may be given several times.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "jsonl"]),
    default="table",
    show_default=True,
    help="Form of the output.",
)
@api_options
def events(api: ApiChoice, following: bool, newest: int, types: tuple[str, ...], output: str) -> None:
    """Show what happens to coordinators and executors."""
    with api.client() as client:
        try:
            feed = _Feed(client)
            for message in _of_types(feed, following, newest, types) if types else _told(feed, following, newest):
                _show(message, output)
        except KeyboardInterrupt:
            sys.exit(0)


def _of_types(feed: "_Feed", following: bool, newest: int, types: tuple[str, ...]) -> "Iterator[LiveMessage]":
    """The newest events of these types, however many others came after them; then, if wanted, those that come."""
    head = feed.head()
    yield from _newest_of(feed, head, newest, types)
    if following:
        yield from (message for message in _told(feed, True, 0, head) if message.type in types)


def _newest_of(feed: "_Feed", head: int, newest: int, types: tuple[str, ...]) -> "list[LiveMessage]":
    """Looked for in longer and longer spans, up to all that is kept."""
    found: list[LiveMessage] = []
    begin, span = head, newest
    while begin > 0 and len(found) < newest:
        begin = max(0, head - span)
        listed = _span(feed, begin, head)
        if listed is None:
            break
        found = [message for message in listed if message.type in types]
        span *= _LONGER
    return found[-newest:] if newest else []


def _span(feed: "_Feed", begin: int, head: int) -> "list[LiveMessage] | None":
    """All events after ``begin`` up to ``head``; None if some of them are no longer kept."""
    from orth.wire.live_calls import SNAPSHOT, follow

    found: list[LiveMessage] = []
    for message in follow(feed.open, begin, pause=feed.pause, broke=_end):
        if message.type == SNAPSHOT:
            return None
        if message.seq <= head:
            found.append(message)
        if message.seq >= head:
            break
    return found


def _told(feed: "_Feed", following: bool, newest: int, since: int | None = None) -> "Iterator[LiveMessage]":
    """The newest events, then, if wanted, those that come. ``since`` is the number of the newest, where it is known."""
    from orth.wire.live_calls import SNAPSHOT, follow

    head = feed.head() if since is None else since
    begin = max(0, head - newest)
    if begin == head and not following:
        return
    for message in follow(feed.open, begin, pause=feed.pause, broke=feed.broke if following else _end):
        if message.type != SNAPSHOT:
            yield message
        elif following:
            click.echo(f"orth: events up to {message.seq} are no longer kept; going on with the next.", err=True)
        if not following and message.seq >= head:
            return


def _end(error: Exception) -> None:
    raise error


class _Feed:
    """The live socket of one coordinator, with the credentials of the command line."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._waiting = threading.Event()
        self._told = False

    def open(self, since: int | None) -> "AbstractContextManager[LiveLine]":
        from orth.wire.live_calls import live_line

        return live_line(self._client.url, headers=self._client.authorization, since=since, tls=self._client.tls)

    def head(self) -> int:
        """The number of the newest event; the first question, so what is wrong for good is told here."""
        from orth.wire.live_calls import LiveRefused, newest_seq

        try:
            return newest_seq(self.open)
        except LiveRefused as refused:
            self._sign_in_again(refused.status)
            return newest_seq(self.open)

    def broke(self, error: Exception) -> None:
        """A line broke: said once, until it is whole again; a session that is over is refreshed."""
        from orth.wire.live_calls import LiveRefused

        if isinstance(error, LiveRefused):
            try:
                self._sign_in_again(error.status)
            except Unavailable:
                return
        if not self._told:
            click.echo(f"orth: {error} Trying again.", err=True)
        self._told = True

    def pause(self, seconds: float) -> None:
        self._waiting.wait(seconds)

    def _sign_in_again(self, status: int) -> None:
        """Let the client refresh its session; ``ApiProblem`` when that does not help."""
        if status in (404, 426):
            raise ApiProblem(
                404, f"{self._client.url} has no live socket.", hint="Is it a coordinator of this version?"
            )
        if status not in (401, 403):
            raise Unavailable(f"{self._client.url}: the live socket answers HTTP {status}.")
        self._client.get("/api/orchestrators")
        if status == 403:
            raise ApiProblem(403, "The live socket does not let this caller in.")


def _show(message: "LiveMessage", output: str) -> None:
    click.echo(message.text if output == "jsonl" else _line(message))


def _line(message: "LiveMessage") -> str:
    """One event for eyes: when, what, how it is now, who and where."""
    data: dict[str, Any] = message.data if isinstance(message.data, dict) else {}
    status = str(data.get("status") or "-")
    coloured = click.style(f"{_plain(status):<8}", fg=_COLOURS.get(status))
    who = data.get("name") or str(data.get("id") or "-")[:_SHOWN_ID]
    where = str(data.get("url") or "-")
    return f"{_plain(message.at)}  {_plain(message.type):<{_WIDTH}}  {coloured}  {_plain(f'{who}  {where}')}"


def _plain(text: str) -> str:
    """Without anything a terminal would obey: others chose these words."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
