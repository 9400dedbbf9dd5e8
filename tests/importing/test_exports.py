"""The shapes of an export, and files that are none."""

import json
import os
from pathlib import Path

import pytest

from orth.errors import Invalid, OrthError, TooLarge
from orth.importing.exports import FILE_LIMIT, parse_export, read_export

JOB = {
    "id": 7,
    "jobGroup": 1,
    "jobDesc": "report",
    "executorHandler": "report",
    "childJobId": "8,9",
    "glueType": "BEAN",
}


def exported(value: object) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    "value",
    [
        JOB,
        [JOB],
        {"code": 200, "msg": None, "data": [JOB]},
        {"code": 200, "content": JOB},
        {"recordsTotal": 1, "recordsFiltered": 1, "data": [JOB]},
        {"code": 200, "data": {"total": 1, "data": [JOB]}},
        {"jobs": [JOB]},
        {"xxl_job_info": [JOB]},
    ],
    ids=["object", "array", "envelope", "old envelope", "page", "page in an envelope", "sections", "tables"],
)
def test_jobs_are_found_in_every_shape(value: object) -> None:
    (job,) = parse_export(exported(value)).jobs
    assert job == {
        "id": 7,
        "job_group": 1,
        "job_desc": "report",
        "executor_handler": "report",
        "child_jobid": "8,9",
        "glue_type": "BEAN",
    }


def test_a_whole_export_has_all_sections_in_either_spelling() -> None:
    export = parse_export(
        exported(
            {
                "xxl_job_group": [{"id": 1, "appname": "shop-executor", "addressType": 0, "registryList": None}],
                "xxl_job_info": [{"id": 2, "job_group": 1, "super_task_id": 3}],
                "xxl_job_logglue": [{"jobId": 2, "glueUpdatetime": 5}],
                "xxl_job_user": [{"username": "li", "password": "p"}],
            }
        )
    )
    assert export.groups[0]["app_name"] == "shop-executor"
    assert export.jobs[0]["super_task_id"] == 3
    assert export.scripts[0]["glue_updatetime"] == 5
    assert export.users[0]["username"] == "li"
    assert not export.fork
    assert parse_export(exported({"orth_job_info": [JOB]})).fork


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe{}", "UTF-8"),
        (b"null", "neither an object nor an array"),
        (b'"jobs"', "neither an object nor an array"),
        (b"17", "neither an object nor an array"),
        (b"{}", "holds no jobs"),
        (b'{"data": null}', "holds no jobs"),
        (b'{"jobs": {"id": 1}}', "jobs is not an array"),
        (b'{"jobs": null}', "jobs is not an array"),
        (b"[1]", "entry 1 of jobs is not an object"),
        (b'{"jobs": [], "users": [{}, "li"]}', "entry 2 of users is not an object"),
        (b'[{"id": 1, "id": 2}]', "the same key twice"),
        (b'[{"id": NaN}]', "NaN"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" * 70 + b"]" * 70, "nested more than 64 deep"),
        (b'{"data":' * 50_000 + b"1" + b"}" * 50_000, "nested"),
        (b'[{"id": ' + b"9" * 5_000 + b"}]", "too many digits"),
        (b'[{"jobDesc": "\\ud800"}]', "surrogate"),
        (b"[" + b"{}," * 100_001 + b"{}]", "more than 100,000"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
def test_what_is_no_export_is_refused_with_the_reason(body: bytes, complaint: str) -> None:
    with pytest.raises(Invalid, match=complaint):
        parse_export(body)


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "large.json"
    with file.open("wb") as out:
        out.truncate(50 * 1024 * 1024)
    with pytest.raises(TooLarge, match=f"{FILE_LIMIT // 1024**2} MiB"):
        read_export(str(file))


@pytest.mark.parametrize("origin", ["no/such/file.json", ".", "ftp://host/file", "sqlite:///x.db"])
def test_an_origin_that_cannot_be_read_is_told(origin: str) -> None:
    with pytest.raises(OrthError):
        read_export(origin)


def test_only_files_are_read(tmp_path: Path) -> None:
    """Nobody writes into that pipe: whoever opened it to read would wait for ever."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/zero")):
        with pytest.raises(Invalid, match=r"is not a file|Is a directory"):
            read_export(str(path))
