"""Every shape of an export, brought to one: rows with the column names of xxl-job.

A JSON export is what the management API of xxl-job or of its fork gives: one job, an array of jobs, a page of them, or
any of these in an envelope. Those hold jobs only. An object with the members ``groups``, ``jobs``, ``scripts`` and
``users`` (or the names of the tables) holds everything.
"""

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from orth.errors import Invalid, InvalidMessage, TooLarge
from orth.store.foreign_tables import ROWS_LIMIT, read_foreign_tables
from orth.wire.strict_json import read_json

Row = Mapping[str, object]

FILE_LIMIT = 32 * 1024 * 1024
DATABASE_SCHEMES = ("mysql://", "mariadb://")

_TABLES = {"groups": "group", "jobs": "info", "scripts": "logglue", "users": "user"}
_SECTIONS = {
    spelling: section
    for section, table in _TABLES.items()
    for spelling in (section, f"xxl_job_{table}", f"orth_job_{table}")
}
# Members whose name is not simply the column in another spelling.
_COLUMNS = {"child_job_id": "child_jobid", "appname": "app_name", "glue_update_time": "glue_updatetime"}
_JOB_MEMBERS = {"executor_handler", "glue_type", "schedule_type", "job_cron"}


@dataclass(frozen=True, slots=True)
class Export:
    """What another installation holds. ``fork`` says that it is the one whose executors share our name."""

    groups: list[Row] = field(default_factory=list)
    jobs: list[Row] = field(default_factory=list)
    scripts: list[Row] = field(default_factory=list)
    users: list[Row] = field(default_factory=list)
    fork: bool = False


def read_export(origin: str) -> Export:
    """What is at ``origin``: a database address or the path of a file."""
    if origin.lower().startswith(DATABASE_SCHEMES):
        tables = read_foreign_tables(origin)
        return Export(tables.groups, tables.jobs, tables.scripts, tables.users, tables.prefix == "orth_job_")
    if "://" in origin:
        scheme = origin.partition("://")[0]
        raise Invalid(f"{scheme}:// is nothing that can be imported from.", hint="Name a file, or mysql://….")
    return parse_export(_bytes_of(Path(origin)))


def _bytes_of(path: Path) -> bytes:
    try:
        # Not to wait for the writer of a pipe, of which there may be none.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Invalid(f"{path} is not a file.", hint="Only regular files are read: write the export to one.")
            body = file.read(FILE_LIMIT + 1)
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.") from None
    if len(body) > FILE_LIMIT:
        raise TooLarge(f"{path} is larger than {FILE_LIMIT // 1024**2} MiB.", hint="Export it in several parts.")
    return body


def parse_export(body: bytes) -> Export:
    """The rows in ``body``; ``Invalid`` when it is not an export."""
    try:
        value = _unwrapped(read_json(body, FILE_LIMIT, values=None))
    except InvalidMessage as error:
        raise Invalid(f"The file cannot be read: {error.message}") from None
    if isinstance(value, list):
        return Export(jobs=_rows("jobs", value))
    if not isinstance(value, dict):
        raise _no_export("it is neither an object nor an array")
    sections = {_SECTIONS[name]: member for name, member in value.items() if name in _SECTIONS}
    if sections:
        rows = {section: _rows(section, member) for section, member in sections.items()}
        return Export(**rows, fork=any(name.startswith("orth_job_") for name in value))
    row = _row(value)
    if _JOB_MEMBERS.isdisjoint(row):
        raise _no_export("it holds no jobs")
    return Export(jobs=[row])


def _unwrapped(value: object) -> object:
    """What an envelope or a page holds."""
    while isinstance(value, dict) and not _SECTIONS.keys() & value.keys():
        inside = next((value[key] for key in ("data", "content") if isinstance(value.get(key), dict | list)), None)
        if inside is None:
            break
        value = inside
    return value


def _rows(section: str, member: object) -> list[Row]:
    if not isinstance(member, list):
        raise _no_export(f"{section} is not an array")
    if len(member) > ROWS_LIMIT:
        raise _no_export(f"{section} has more than {ROWS_LIMIT:,} entries")
    for number, item in enumerate(member, 1):
        if not isinstance(item, dict):
            raise _no_export(f"entry {number} of {section} is not an object")
    return [_row(item) for item in member]


def _row(members: Mapping[str, object]) -> Row:
    snake = {re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower(): value for name, value in members.items()}
    return {_COLUMNS.get(name, name): value for name, value in snake.items()}


def _no_export(why: str) -> Invalid:
    return Invalid(f"The file is not an export of xxl-job: {why}.")
