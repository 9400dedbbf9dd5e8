"""``orth export``, ``orth plan`` and ``orth apply``: definitions of jobs out of a coordinator and into one."""

import json
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import click

from orth.cli.api_client import ApiChoice, ApiClient, api_options
from orth.cli.output import show_list
from orth.errors import Invalid

_PATH = "/api/v1/jobs/definitions"

_file_option = click.option(
    "-f",
    "--file",
    "file",
    type=click.File(encoding="utf-8"),
    required=True,
    help="What `orth export` wrote; - is stdin.",
)
_handlers_option = click.option(
    "--any-handler", is_flag=True, help="Accept handlers that no executor has announced yet."
)
_form_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Form of the output.",
)


@click.command()
@click.option("--group", "job_group", type=int, metavar="ID", help="Only those of this group.")
@click.option("--author", metavar="NAME", help="Only those this one answers for.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only those with this tag; given again: with all.")
@click.option("--id", "ids", type=int, multiple=True, metavar="ID", help="Only this job; may be given again.")
@api_options
def export(
    api: ApiChoice, job_group: int | None, author: str | None, tags: tuple[str, ...], ids: tuple[int, ...]
) -> None:
    """Write definitions of jobs as JSON, code included.

    `orth apply` takes them in, here or elsewhere.
    """
    with api.client() as client:
        found = list(client.items(_PATH, job_group=job_group, author=author, tag=list(tags), id=list(ids)))
    click.echo(json.dumps({"jobs": found[::-1]}, indent=2, ensure_ascii=False))  # oldest first: what is new is below


@click.command()
@_file_option
@_handlers_option
@_form_option
@api_options
def plan(api: ApiChoice, file: TextIO, any_handler: bool, output: str) -> None:
    """Show what `orth apply` would do, and change nothing.

    Exit code: 1 if a definition is refused.
    """
    with api.client() as client:
        _show(_asked(client, _read(file), any_handler, dry_run=True), output)


@click.command()
@_file_option
@_handlers_option
@_form_option
@api_options
def apply(api: ApiChoice, file: TextIO, any_handler: bool, output: str) -> None:
    """Make and change jobs by their definitions.

    New jobs are stopped. Exit code: 1 if a definition is refused; the others are done all the same.
    """
    with api.client() as client:
        _show(_asked(client, _read(file), any_handler, dry_run=False), output)


def _read(file: TextIO) -> list[Any]:
    try:
        read = json.load(file)
    except ValueError as error:
        raise Invalid(f"{file.name} is not JSON: {error}.") from None
    found = read.get("jobs") if isinstance(read, dict) else read
    if not isinstance(found, list):
        raise Invalid(f"{file.name} holds no definitions.", hint='It looks like {"jobs": [...]}.')
    return found


def _asked(client: ApiClient, jobs: list[Any], any_handler: bool, *, dry_run: bool) -> dict[str, Any]:
    query = {"dry_run": str(dry_run).lower(), "allow_unknown_handler": str(any_handler).lower()}
    answer: dict[str, Any] = client.call("POST", _PATH, body={"jobs": jobs}, query=query)
    return answer


def _show(answer: dict[str, Any], output: str) -> None:
    if output == "json":
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        columns = {"fate": _fate, "group": _group, "name": _name, "why": _why}
        show_list(answer["items"], output, columns)
        click.echo("\n".join(_counts(answer)), err=True)
    sys.exit(1 if answer["refused"] else 0)


def _counts(answer: dict[str, Any]) -> Iterator[str]:
    verb = "would be " if answer["dry_run"] else ""
    counted = ", ".join(f"{answer[name]} {verb}{name}" for name in ("created", "changed", "refused"))
    yield f"{counted}, {answer['same']} as they are"


def _fate(one: dict[str, Any]) -> object:
    return one["fate"]


def _group(one: dict[str, Any]) -> object:
    return one["job_group"]


def _name(one: dict[str, Any]) -> object:
    return one["job_desc"]


def _why(one: dict[str, Any]) -> str:
    if one["detail"]:
        return f"{one['detail']} {one['hint'] or ''}".strip()
    return ", ".join(_change(change) for change in one["changes"])


def _change(change: dict[str, Any]) -> str:
    if change["field"] == "glue_source":
        return "code"
    before, after = (json.dumps(change[name], ensure_ascii=False) for name in ("before", "after"))
    return f"{change['field']}: {before} -> {after}"
