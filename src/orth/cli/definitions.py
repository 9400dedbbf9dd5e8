"""``orth export``, ``orth plan`` and ``orth apply``: definitions of jobs out of a coordinator and into one."""

import json
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import click

from orth.cli.api_client import ApiChoice, ApiClient, api_options
from orth.cli.options import any_handler_option, in_options
from orth.cli.output import show_list
from orth.cli.references import GROUP, JOB, Reference, job_id, with_ids
from orth.domain.definitions import Definition, parts_of, told_twice
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
_form_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Form of the output.",
)


@click.command()
@click.option("--group", "job_group", type=GROUP, help="Filter by group: its id or app name.")
@click.option("--author", metavar="NAME", help="Only those this one answers for.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only those with this tag; given again: with all.")
@click.option(
    "--job", "--id", "job_ids", type=JOB, multiple=True, help="Only this job: its id or GROUP/NAME; may be given again."
)
@api_options
def export(
    api: ApiChoice,
    job_group: Reference | None,
    author: str | None,
    tags: tuple[str, ...],
    job_ids: tuple[Reference, ...],
) -> None:
    """Write definitions of jobs as JSON, code included.

    `orth apply` takes them in, here or elsewhere.
    """
    with api.client() as client:
        ids = [job_id(client, one) for one in job_ids]
        wanted = with_ids(client, {"job_group": job_group, "author": author, "tag": list(tags), "id": ids})
        found = list(client.items(_PATH, **wanted))
    click.echo(json.dumps({"jobs": found[::-1]}, indent=2, ensure_ascii=False))  # oldest first: what is new is below


@click.command()
@_file_option
@any_handler_option
@_form_option
@api_options
def plan(api: ApiChoice, file: TextIO, any_handler: bool, output: str) -> None:
    """Show what `orth apply` would do, and change nothing.

    Of a file too large for one request, the first part is shown: what becomes of the others depends on it. Exit code:
    1 if a definition is refused.
    """
    jobs = _read(file)
    first, *others = _parts(file, jobs)
    with api.client() as client:
        answer = _asked(client, [jobs[place] for place in first], any_handler, dry_run=True)
    if others:
        left = len(jobs) - len(first)
        click.echo(
            f"These are the first {len(first)} of {len(jobs)} definitions. What becomes of the other {left}", err=True
        )
        click.echo("depends on them: orth apply takes in one part after the other.", err=True)
    _show(_placed(answer, first), output)


@click.command()
@_file_option
@any_handler_option
@_form_option
@api_options
def apply(api: ApiChoice, file: TextIO, any_handler: bool, output: str) -> None:
    """Make and change jobs by their definitions.

    New jobs are stopped. What is too large for one request is sent in parts; one that fails leaves those before it
    done, and the same file can be applied again. Exit code: 1 if a definition is refused; the others are done all the
    same.
    """
    jobs = _read(file)
    parts = _parts(file, jobs)
    answers = []
    with api.client() as client:
        for number, part in enumerate(parts, 1):
            answer = _asked(client, [jobs[place] for place in part], any_handler, dry_run=False)
            answers.append(_placed(answer, part))
            if len(parts) > 1:
                done = sum(len(one) for one in parts[:number])
                click.echo(f"part {number} of {len(parts)}: {done} of {len(jobs)} definitions", err=True)
    _show(_together(answers), output)


def _read(file: TextIO) -> list[Definition]:
    try:
        read = json.load(file)
    except ValueError as error:
        raise Invalid(f"{file.name} is not JSON: {error}.") from None
    found = read.get("jobs") if isinstance(read, dict) else read
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) for one in found):
        raise Invalid(f"{file.name} holds no definitions.", hint='It looks like {"jobs": [...]}.')
    return found


def _parts(file: TextIO, jobs: list[Definition]) -> list[list[int]]:
    parts = parts_of(jobs)
    twice = told_twice(jobs) if len(parts) > 1 else None
    if twice is not None:
        one, other = (place + 1 for place in twice)
        raise Invalid(
            f"{file.name} is sent in {len(parts)} parts, and its definitions {one} and {other} are about the same job.",
            hint="Leave one of them out.",
        )
    return parts


def _placed(answer: dict[str, Any], part: list[int]) -> dict[str, Any]:
    """An answer about a part, with the places that its definitions have in the file."""
    return {**answer, "items": [{**one, "place": part[one["place"]]} for one in answer["items"]]}


def _together(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """One answer about a file that was sent in parts. Only one part has a plan: of several nothing can be kept to."""
    if len(answers) == 1:
        return answers[0]
    sums = {name: sum(one[name] for one in answers) for name in ("created", "changed", "same", "refused")}
    items = sorted((item for one in answers for item in one["items"]), key=lambda item: item["place"])
    return {"dry_run": False, "plan": None, **sums, "items": items}


def _asked(client: ApiClient, jobs: list[Definition], any_handler: bool, *, dry_run: bool) -> dict[str, Any]:
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
        return f"{one['detail']} {in_options(one['hint']) or ''}".strip()
    return ", ".join(_change(change) for change in one["changes"])


def _change(change: dict[str, Any]) -> str:
    if change["field"] == "glue_source":
        return "code"
    before, after = (json.dumps(change[name], ensure_ascii=False) for name in ("before", "after"))
    return f"{change['field']}: {before} -> {after}"
