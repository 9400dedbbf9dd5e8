"""JSON exports, imported: jobs that need a group, wrong types, and files that must change nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from orth.errors import OrthError
from orth.importing.report import Fate, Report
from orth.store.glue_versions import list_glue_versions
from tests.importing.test_xxl_job import Store, fates, import_into, notes_of

JOB: dict[str, Any] = {
    "id": 7,
    "jobGroup": 3,
    "jobDesc": "report",
    "scheduleType": "FIX_RATE",
    "scheduleConf": 30,
    "misfireStrategy": "DO_NOTHING",
    "executorRouteStrategy": "ROUND",
    "executorHandler": "report",
    "executorParam": None,
    "executorBlockStrategy": "SERIAL_EXECUTION",
    "executorTimeout": "15",
    "executorFailRetryCount": 0,
    "glueType": "BEAN",
    "glueUpdatetime": "2024-03-01T12:00:00.000+08:00",
    "childJobId": "8",
    "superTaskId": 0,
}


def import_json(store: str, folder: Path, value: object, **wishes: object) -> Report:
    file = folder / "export.json"
    file.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return import_into(store, str(file), **wishes)


def test_jobs_without_groups_go_where_they_are_told(sqlite_store: str, tmp_path: Path) -> None:
    jobs = [JOB, {**JOB, "id": 8, "jobDesc": "mail", "jobGroup": 4, "childJobId": ""}]
    lost = import_json(sqlite_store, tmp_path, jobs)
    assert lost.fruitless
    assert "--group 3=APP_NAME" in notes_of(lost, "job", 7)
    assert Store(sqlite_store).jobs() == {}
    report = import_json(sqlite_store, tmp_path, jobs, app_names={3: "shop-executor", 0: "other-executor"})
    assert not report.fruitless
    here = Store(sqlite_store).jobs()
    assert here["report"].child_job_ids == (here["mail"].id,)
    assert here["report"].job_group != here["mail"].job_group
    assert (here["report"].schedule_conf, here["report"].executor_timeout) == ("30", 15)
    assert [entry.origin.name for entry in report.entries if entry.origin.kind == "group"] == [
        "other-executor",
        "shop-executor",
    ]


def test_an_export_that_names_the_app_needs_no_more_than_the_group(sqlite_store: str, tmp_path: Path) -> None:
    export = {"groups": [{"id": 1, "appName": "shop-executor", "title": "Shop"}], "jobs": [{**JOB, "jobGroup": 1}]}
    assert {fate for *_rest, fate in fates(import_json(sqlite_store, tmp_path, export))} == {Fate.CREATED}
    alone = import_json(sqlite_store, tmp_path, {**JOB, "jobDesc": "second", "appName": "shop-executor"})
    assert fates(alone) == [("job", 7, Fate.CREATED)]
    unknown = import_json(sqlite_store, tmp_path, {**JOB, "jobDesc": "third", "appName": "nobody"})
    assert "no group 'nobody' here" in notes_of(unknown, "job", 7)


def test_jobs_without_ids_are_taken_and_nobody_is_their_parent(sqlite_store: str, tmp_path: Path) -> None:
    nameless = [{key: value for key, value in JOB.items() if key != "id"} | {"jobDesc": name} for name in "ab"]
    report = import_json(sqlite_store, tmp_path, nameless, app_names={0: "shop-executor"})
    assert sorted(Store(sqlite_store).jobs()) == ["a", "b"]
    assert all("child 8 was not taken over" in entry.notes[-1] for entry in report.entries[1:])


def test_an_id_that_comes_twice_is_refused_the_second_time(sqlite_store: str, tmp_path: Path) -> None:
    report = import_json(sqlite_store, tmp_path, [JOB, {**JOB, "jobDesc": "other"}], app_names={0: "shop-executor"})
    assert sorted(Store(sqlite_store).jobs()) == ["report"]
    assert [entry.notes for entry in report.entries if entry.fate is Fate.REFUSED] == [("another job has the id 7",)]


def test_a_sub_task_may_have_no_handler_of_its_own(sqlite_store: str, tmp_path: Path) -> None:
    sub = {**JOB, "id": 2, "jobDesc": "sub", "executorHandler": "", "superTaskId": 7, "childJobId": ""}
    orphan = {**sub, "id": 3, "jobDesc": "orphan", "superTaskId": 404}
    report = import_json(sqlite_store, tmp_path, [sub, orphan, JOB], app_names={0: "shop-executor"})
    jobs = Store(sqlite_store).jobs()
    assert jobs["sub"].super_task_id == jobs["report"].id
    assert "no handler of its own" in notes_of(report, "job", 3)
    assert "orphan" not in jobs


@pytest.mark.parametrize(
    ("member", "value", "reason"),
    [
        ("jobDesc", {"a": 1}, "job_desc is not a text"),
        ("jobDesc", ["a"], "job_desc is not a text"),
        ("executorHandler", True, "executor_handler is not a text"),
        ("executorParam", {"a": 1}, "executor_param is not a text"),
        ("executorTimeout", "soon", "executor_timeout is not a whole number"),
        ("executorTimeout", 1.5, "executor_timeout is not a whole number"),
        ("executorTimeout", True, "executor_timeout is not a whole number"),
        ("childJobId", {"8": 1}, "child_jobid is not a list of ids"),
        ("childJobId", [True], "child_jobid is not a list of ids"),
        ("scheduleConf", [30], "schedule_conf is not a text"),
        ("glueType", 5, "glue_type '5' is not known"),
        ("glueType", "GLUE", "glue_type 'GLUE' is not known"),
        ("glueSource", "a\u0000b", "glue_source has a NUL character"),
        ("glueSource", "x" * 1_048_577, "glue_source has 1,048,577 characters"),
        ("executorHandler", "h" * 256, "executor_handler has 256 characters"),
        ("jobGroup", "three", "job_group is not a whole number"),
        ("superTaskId", "x", "super_task_id is not a whole number"),
        ("triggerStatus", "on", "trigger_status is not a whole number"),
    ],
)
def test_a_field_of_the_wrong_kind_refuses_its_job_and_no_other(
    sqlite_store: str, tmp_path: Path, member: str, value: object, reason: str
) -> None:
    good = {**JOB, "id": 9, "jobDesc": "good", "childJobId": [7]}
    report = import_json(sqlite_store, tmp_path, [{**JOB, member: value}, good], app_names={0: "shop-executor"})
    assert list(Store(sqlite_store).jobs()) == ["good"]
    (refused,) = [entry for entry in report.entries if entry.fate is Fate.REFUSED]
    assert reason in refused.notes[0]
    assert all(line.isprintable() for line in report.lines())


@pytest.mark.parametrize(
    "body",
    [b"", b"[", b"{}", b"[1]", b'[{"id": 1, "id": 2}]', b"[" * 100_000, b" " * 50 * 1024 * 1024, b'{"jobs": 5}'],
    ids=["empty", "cut", "nothing", "no objects", "twice", "deep", "50 MiB", "type"],
)
def test_a_file_that_is_no_export_changes_nothing(sqlite_store: str, tmp_path: Path, body: bytes) -> None:
    before = Store(sqlite_store).contents()
    with pytest.raises(OrthError):
        import_json(sqlite_store, tmp_path, body)
    assert Store(sqlite_store).contents() == before


def test_many_children_are_cut_where_the_column_ends(store: str, tmp_path: Path) -> None:
    leaves = [{**JOB, "id": 1000 + n, "jobDesc": f"leaf {n}", "childJobId": ""} for n in range(120)]
    parent = {**JOB, "id": 1, "childJobId": [leaf["id"] for leaf in leaves]}
    report = import_json(store, tmp_path, [parent, *leaves], app_names={0: "shop-executor"})
    kept = Store(store).jobs()["report"].child_job_ids
    assert 60 < len(kept) < 120
    assert f"only the first {len(kept)} of its 120 children fit" in notes_of(report, "job", 1)


GROUPS = [{"id": 3, "appName": "shop-executor", "title": "Shop"}]
SHELL = {**JOB, "glueType": "GLUE_SHELL", "glueSource": "echo now", "childJobId": ""}
OLD = {"jobId": 7, "glueType": "GLUE_SHELL", "glueSource": "echo old", "glueRemark": "old"}


def test_scripts_that_belong_to_no_job_here_are_told(sqlite_store: str, tmp_path: Path) -> None:
    refused_job = {**SHELL, "id": 9, "jobDesc": "cobol", "glueType": "GLUE_COBOL"}
    scripts = [
        {**OLD, "id": 1},
        {**OLD, "id": 2, "jobId": 77},
        {**OLD, "id": 3, "glueType": "GLUE_COBOL"},
        {"id": 4, "glueSource": "echo"},
        {**OLD, "id": 5, "jobId": 9},
        {**OLD, "id": 6, "glueSource": ["no", "text"]},
    ]
    export = {"groups": GROUPS, "jobs": [SHELL, refused_job], "scripts": scripts}
    report = import_json(sqlite_store, tmp_path, export)
    told = {one.origin.id: one.notes for one in report.entries if one.origin.kind == "script"}
    assert told == {
        2: ("its job 77 was not found or not taken over",),
        3: ("glue_type 'GLUE_COBOL' is not known",),
        4: ("it names no job",),
        5: ("its job 9 was not found or not taken over",),
        6: ("glue_source is not a text",),
    }
    lines = list(report.lines())
    assert "scripts: 5 not taken over" in lines
    assert "  script 2 'old': its job 77 was not found or not taken over" in lines
    assert {
        "kind": "script",
        "from_id": 4,
        "name": "entry 4",
        "fate": "refused",
        "id": 0,
        "notes": ["it names no job"],
    } in (
        report.as_json()["entries"]  # type: ignore[operator]
    )
    here = Store(sqlite_store)
    with here.engine.begin() as connection:
        versions = list_glue_versions(connection, here.jobs()["report"].id)
    assert [version.source for version in versions] == ["echo old"]


def test_a_job_refused_while_it_is_written_tells_of_its_scripts_too(sqlite_store: str, tmp_path: Path) -> None:
    export = {"jobs": [SHELL], "scripts": [{**OLD, "id": 1}, {**OLD, "id": 2}]}
    report = import_json(sqlite_store, tmp_path, export)
    assert notes_of(report, "job", 7).endswith("; nor was the history of its script (2)")


def test_an_export_without_lost_scripts_does_not_count_them(sqlite_store: str, tmp_path: Path) -> None:
    report = import_json(sqlite_store, tmp_path, {"groups": GROUPS, "jobs": [SHELL], "scripts": [OLD]})
    assert not any(line.startswith("scripts:") for line in report.lines())


@pytest.mark.parametrize(
    ("there", "here", "told"),
    [
        (" ops@example.org,,li@example.org , ops@example.org", "ops@example.org,li@example.org", ""),
        ("ops@example.org,nobody", "ops@example.org", "alarm_email: 'nobody' is not an e-mail address"),
        ("a@b.c\r\nBcc: x@y.z", "", "is not an e-mail address and was left out"),
        ("ops@example.org," + "l" * 64 + "@" + "x" * 180 + ".org", "ops@example.org", "does not fit and was left out"),
        (["ops@example.org"], "", "alarm_email is not a text; nobody is told"),
        (None, "", ""),
    ],
)
def test_alarm_addresses_come_with_their_job_and_wrong_ones_are_told(
    sqlite_store: str, tmp_path: Path, there: object, here: str, told: str
) -> None:
    job = {**JOB, "childJobId": "", "alarmEmail": there}
    report = import_json(sqlite_store, tmp_path, {"groups": GROUPS, "jobs": [job]})
    assert Store(sqlite_store).jobs()["report"].alarm_email == here
    noted = notes_of(report, "job", 7)
    assert told in noted if told else noted == ""
