"""``orth exec log``: what an execution wrote, wherever it ran, also while it writes.

Characters that a terminal would obey are shown as ``\\x1b`` and the like, also in a file or a pipe: behind most pipes
there is a terminal (``less -R``, ``head``), and a log holds whatever a job was made to write. ``--raw`` gives the text
as it is.
"""

import json
from collections.abc import Iterator
from typing import Any

import click

from orth.cli.api_client import ApiChoice, ApiClient, api_options
from orth.errors import ApiProblem, Unavailable

_TRIES = 5
"""How often in a row a stream that broke off is opened again."""


@click.command(name="log")
@click.argument("execution_id", type=int)
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written, until the execution is over.")
@click.option("--tail", type=click.IntRange(1, 1000), metavar="N", help="Begin with the last N lines.")
@click.option("--from", "from_line", type=click.IntRange(1), default=1, metavar="LINE", help="Begin with this line.")
@click.option("--search", metavar="TEXT", help="Only lines that contain this, with their numbers.")
@click.option("--regex", is_flag=True, help="Take TEXT as a regular expression.")
@click.option("-i", "--ignore-case", is_flag=True, help="Take capital and small letters for the same.")
@click.option("--raw", is_flag=True, help="Do not escape control characters.")
@api_options
def log(
    api: ApiChoice,
    execution_id: int,
    follow: bool,
    tail: int | None,
    from_line: int,
    search: str | None,
    regex: bool,
    ignore_case: bool,
    raw: bool,
) -> None:
    """Show the log of an execution."""
    if search is not None and (follow or tail is not None):
        raise click.UsageError("--search goes with neither --follow nor --tail.")
    where = f"/api/v1/executions/{execution_id}/log"
    with api.client() as client:
        if search is not None:
            shown = _found(client, where, {"q": search, "regex": regex, "ignore_case": ignore_case}, from_line)
        else:
            shown = _read(client, where, tail, from_line, follow)
        for text in shown:
            click.echo(text if raw else visible(text), color=True)


def visible(text: str) -> str:
    """``text`` with everything a terminal would obey spelled out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in text)


def _read(client: ApiClient, where: str, tail: int | None, line: int, follow: bool) -> Iterator[str]:
    """The lines from ``line`` on, or the last ones; then, if wanted, what comes."""
    ended = False
    while not ended:
        page = client.get(where, **({"from": line} if tail is None else {"tail": tail}))
        tail, ended = None, page["end"]
        if page["to_line"] < page["from_line"]:
            if page["content"]:  # why there is nothing
                click.echo(visible(page["content"]), err=True)
            break
        yield from page["content"].split("\n")
        line = page["to_line"] + 1
    if follow and not ended:
        yield from _followed(client, where, line)


def _followed(client: ApiClient, where: str, line: int) -> Iterator[str]:
    broken = 0
    while True:
        try:
            for name, data in _events(client.stream(f"{where}/stream", **{"from": line})):
                broken = 0
                if name == "lines":
                    yield from data["content"].split("\n")
                    line = data["to_line"] + 1
                elif name == "trouble":
                    click.echo(visible(data["message"]), err=True)
                elif name == "end":
                    if data["note"]:
                        click.echo(visible(data["note"]), err=True)
                    return
        except ApiProblem:
            raise  # it was understood, and refused
        except Unavailable:
            if broken >= _TRIES:
                raise
        broken += 1
        if broken > _TRIES:
            raise Unavailable("The stream broke off again and again.", hint=f"Go on with --from {line}.")


def _events(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Server-sent events: their name and what they say."""
    event: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
            continue
        if "event" in event:
            yield event["event"], json.loads(event["data"])
        event = {}


def _found(client: ApiClient, where: str, wanted: dict[str, Any], line: int) -> Iterator[str]:
    while True:
        found = client.get(f"{where}/search", **wanted, limit=1000, **{"from": line})
        for hit in found["matches"]:
            before, after = "…" if hit["offset"] else "", "…" if hit["cut"] else ""
            yield f"{hit['line']}: {before}{hit['text']}{after}"
        if found["end"] or found["to_line"] < line:
            if found.get("lacking"):
                click.echo("The copy that was searched lacks lines; a line of the log says which.", err=True)
            return
        line = found["to_line"] + 1
