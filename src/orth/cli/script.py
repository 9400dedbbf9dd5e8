"""``orth script``: the code of jobs, from the command line."""

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from orth.cli.api_client import ApiChoice, ApiClient, api_options
from orth.cli.exec_log import visible
from orth.cli.options import key_option
from orth.cli.output import output_option, show_list, show_one
from orth.cli.references import Reference, find_group, group_argument, job_argument, job_id
from orth.errors import Invalid

_ENDINGS = {
    "GLUE": ".py",
    "GLUE_PYTHON": ".py",
    "GLUE_PYTHON2": ".py",
    "GLUE_SHELL": ".sh",
    "GLUE_NODEJS": ".js",
    "GLUE_POWERSHELL": ".ps1",
    "GLUE_PHP": ".php",
    "GLUE_GROOVY": ".groovy",
}
_REMARK = click.option("-m", "--remark", required=True, metavar="TEXT", help="What was changed; 4 to 100 characters.")


@click.group()
def script() -> None:
    """Look after the code of jobs: edit it, compare versions, try it."""


@script.command()
@job_argument
@output_option
@api_options
def show(api: ApiChoice, job_: Reference, output: str) -> None:
    """Show the code that a job runs, and nothing else; with -o json or yaml all that is known of it."""
    with api.client() as client:
        found = client.get(_path(client, job_))
    if output == "table":
        _tell(found["glue_source"])
    else:
        show_one({"id": found["version_id"], **found} if output == "name" else found, output, _described)


@script.command()
@job_argument
@_REMARK
@output_option
@api_options
def edit(api: ApiChoice, job_: Reference, remark: str, output: str) -> None:
    """Change the code of a job in $VISUAL or $EDITOR.

    What somebody else saved meanwhile is not written over: then the edited file is kept, and its name told.
    """
    with api.client() as client:
        path = _path(client, job_)
        found = client.get(path)
        draft = _draft(found)
        _open_editor(draft)
        edited = _read(draft)
        if edited == found["glue_source"]:
            draft.unlink()
            click.echo("Nothing was changed.", err=True)
            return
        try:
            saved = _save(client, path, {"glue_source": edited, "glue_remark": remark}, found["sha256"])
        except BaseException:
            click.echo(f"It was not saved; your version is in {draft}", err=True)
            raise
        draft.unlink()
    show_one(saved, output, _described)


@script.command()
@job_argument
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@_REMARK
@click.option("--type", "glue_type", type=click.Choice(sorted(_ENDINGS)), help="Kind of code.  [default: as it is]")
@click.option("--if-digest", metavar="SHA256", help="Only if this is the digest of the code that the job runs now.")
@output_option
@api_options
def push(
    api: ApiChoice, job_: Reference, file: Path, remark: str, glue_type: str | None, if_digest: str | None, output: str
) -> None:
    """Save a file as the code of a job."""
    body = {"glue_source": _read(file), "glue_remark": remark}
    with api.client() as client:
        saved = _save(client, _path(client, job_), body | ({"glue_type": glue_type} if glue_type else {}), if_digest)
    show_one(saved, output, _described)


@script.command()
@job_argument
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many.")
@output_option
@api_options
def versions(api: ApiChoice, job_: Reference, limit: int, output: str) -> None:
    """List what was saved, newest first."""
    with api.client() as client:
        found = list(client.items(f"{_path(client, job_)}/versions", limit=limit))
    show_list(
        found,
        output,
        {
            "id": lambda one: one["id"],
            "saved": lambda one: one["saved_at"],
            "author": lambda one: one["author"],
            "type": lambda one: one["glue_type"],
            "bytes": lambda one: one["size"],
            "sha256": lambda one: one["sha256"][:12],
            "remark": lambda one: one["glue_remark"],
        },
    )


@script.command()
@job_argument
@click.argument("old", type=int)
@click.argument("new", type=int, required=False)
@api_options
def diff(api: ApiChoice, job_: Reference, old: int, new: int | None) -> None:
    """Show how version OLD differs from version NEW, or from what the job runs now."""
    with api.client() as client:
        for line in client.stream(f"{_path(client, job_)}/diff", **{"from": old, "to": new}):
            _tell(line + "\n")


@script.command()
@job_argument
@click.argument("version_id", type=int)
@_REMARK
@output_option
@api_options
def rollback(api: ApiChoice, job_: Reference, version_id: int, remark: str, output: str) -> None:
    """Let a job run an earlier version again, as a new one."""
    with api.client() as client:
        body = {"version_id": version_id, "remark": remark}
        show_one(client.call("POST", f"{_path(client, job_)}/rollback", body=body), output, _described)


@script.command()
@job_argument
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False)
@click.option("--param", metavar="TEXT", help="Parameter.  [default: the job's]")
@click.option("--address", metavar="URL", help="Executor to use.  [default: by routing]")
@key_option("Idempotency key: the same one is the same test.")
@output_option
@api_options
def test(
    api: ApiChoice,
    job_: Reference,
    file: Path | None,
    param: str | None,
    address: str | None,
    key: str | None,
    output: str,
) -> None:
    """Run FILE once, or the code as it is saved, beside a job and without saving it. See it with: orth exec log ID."""
    asked = {"source": None if file is None else _read(file), "executor_param": param, "address": address}
    body = {name: value for name, value in asked.items() if value is not None}
    headers = {} if key is None else {"Idempotency-Key": key}
    with api.client() as client:
        opened = client.call("POST", f"{_path(client, job_)}/test", body=body, headers=headers)
    show_list([{"id": one} for one in opened["execution_ids"]], output, {"execution": lambda one: one["id"]})


@script.command()
@group_argument
@api_options
def allow(api: ApiChoice, group_: Reference) -> None:
    """Let jobs of a group have code. Their executors' own settings must name its kind besides."""
    _switch(api, group_, True)


@script.command()
@group_argument
@api_options
def forbid(api: ApiChoice, group_: Reference) -> None:
    """Send no code to the executors of a group any more; jobs that have some fail and say so."""
    _switch(api, group_, False)


def _switch(api: ApiChoice, group_: Reference, allowed: bool) -> None:
    with api.client() as client:
        found = find_group(client, group_)
        body = {name: found[name] for name in ("app_name", "title", "address_type", "dialect")}
        if found["address_type"]:
            body["address_list"] = found["address_list"]
        client.call("PUT", f"/api/v1/groups/{found['id']}", body={**body, "scripts_allowed": allowed})
    click.echo(f"{found['app_name']}: scripts are {'allowed' if allowed else 'not allowed'}.")


def _path(client: ApiClient, job_: Reference) -> str:
    return f"/api/v1/scripts/{job_id(client, job_)}"


def _save(client: ApiClient, path: str, body: dict[str, Any], digest: str | None) -> dict[str, Any]:
    headers = {} if digest is None else {"If-Match": f'"{digest}"'}
    saved: dict[str, Any] = client.call("PUT", path, body=body, headers=headers)
    return saved


def _tell(code: str) -> None:
    """Code as it is, or, on a terminal, without anything that would be obeyed."""
    if sys.stdout.isatty():
        code = "\n".join(map(visible, code.split("\n")))
    click.echo(code, nl=not code.endswith("\n"))


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except UnicodeDecodeError:
        raise Invalid(f"{file} is not UTF-8 text.") from None


def _draft(found: dict[str, Any]) -> Path:
    """The code in a file that only its owner can read."""
    ending = _ENDINGS.get(found["glue_type"], ".txt")
    descriptor, name = tempfile.mkstemp(prefix=f"orth-job-{found['job_id']}-", suffix=ending)
    with os.fdopen(descriptor, "wb") as file:
        file.write(found["glue_source"].encode())
    return Path(name)


def _open_editor(file: Path) -> None:
    import subprocess

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        ended = subprocess.run([*shlex.split(editor), str(file)], check=False)  # noqa: S603  # the caller's own choice
    except OSError as error:
        file.unlink()
        raise Invalid(f"{editor} cannot be started: {error.strerror}.", hint="Set EDITOR.") from None
    if ended.returncode:
        raise Invalid(f"{editor} ended with {ended.returncode}; nothing was saved. The file is {file}")


def _described(one: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Job", f"{one['job_id']}   {one['job_desc']}"
    yield "Type", one["glue_type"]
    yield "Version", f"{one['version_id'] or '-'}   {one['glue_remark']}"
    yield "Saved", f"{one['saved_at'] or '-'} by {one['author'] or 'nobody known'}"
    yield "Size", f"{one['size']} bytes, sha256 {one['sha256'][:12]}"
    if not one["scripts_allowed"]:
        yield "Group", f"{one['job_group']} does not allow scripts, so it is not sent to executors"
