"""``orth import xxl-job`` as people run it: report, exit codes, and no password anywhere."""

import json
from pathlib import Path

from tests.cli.running import orth
from tests.importing.installations import Installation, fill

EXPORT = {
    "groups": [{"id": 1, "appName": "shop-executor", "title": "Shop"}],
    "jobs": [
        {"id": 5, "jobGroup": 1, "jobDesc": "report", "executorHandler": "report", "glueType": "BEAN"},
        {"id": 6, "jobGroup": 1, "jobDesc": "odd", "executorHandler": "", "glueType": "BEAN"},
    ],
}


def prepared(folder: Path, export: object = EXPORT) -> Path:
    assert orth("db", "upgrade", cwd=folder).returncode == 0
    file = folder / "export.json"
    file.write_text(json.dumps(export))
    return file


def test_a_file_is_imported_and_the_report_names_what_was_not(tmp_path: Path) -> None:
    file = prepared(tmp_path)
    rehearsed = orth("import", "xxl-job", "--from", str(file), "--dry-run", cwd=tmp_path)
    done = orth("import", "xxl-job", "--from", str(file), cwd=tmp_path)
    again = orth("import", "xxl-job", "--from", str(file), "-o", "json", cwd=tmp_path)
    assert [run.returncode for run in (rehearsed, done, again)] == [0, 0, 0], (rehearsed, done, again)
    assert rehearsed.stdout.splitlines()[0].startswith("Dry run")
    assert rehearsed.stdout.splitlines()[1:] == done.stdout.splitlines()
    assert "groups:  1 new" in done.stdout
    assert "jobs:    1 new, 1 not taken over" in done.stdout
    assert "job 6 'odd': it names no handler" in done.stdout
    told = json.loads(again.stdout)
    assert [(entry["kind"], entry["from_id"], entry["fate"]) for entry in told["entries"]] == [
        ("job", 6, "refused"),
        ("group", 1, "there"),
        ("job", 5, "there"),
    ]


def test_relations_and_addresses_that_are_others_here_are_told(tmp_path: Path) -> None:
    group = {"id": 1, "appName": "shop-executor", "title": "Shop", "addressType": 1}
    first = {**EXPORT["jobs"][0], "id": 7, "jobDesc": "first"}
    last = {**EXPORT["jobs"][0], "id": 8, "jobDesc": "last"}
    file = prepared(tmp_path, {"groups": [{**group, "addressList": "http://10.0.0.1:9999"}], "jobs": [first, last]})
    assert orth("import", "xxl-job", "--from", str(file), cwd=tmp_path).returncode == 0
    changed = {
        "groups": [{**group, "addressList": "http://10.0.0.7:9999"}],
        "jobs": [{**first, "childJobId": "8"}, last],
    }
    file.write_text(json.dumps(changed))
    text = orth("import", "xxl-job", "--from", str(file), cwd=tmp_path)
    told = orth("import", "xxl-job", "--from", str(file), "-o", "json", cwd=tmp_path)
    assert [run.returncode for run in (text, told)] == [0, 0], (text, told)
    assert "Already here, and different; left as it is:" in text.stdout
    assert "group 1 'shop-executor' -> 1: differs in address_list" in text.stdout
    assert "Already here, and repaired:" in text.stdout
    assert "job 7 'first' -> 1: its child_jobid was empty and is 2 now" in text.stdout
    entries = [(entry["fate"], entry["notes"]) for entry in json.loads(told.stdout)["entries"]]
    assert entries == [
        ("differs", ["differs in address_list"]),
        ("there", []),
        ("there", []),
    ]


def test_nothing_imported_is_exit_code_1_and_a_bad_file_is_one_line(tmp_path: Path) -> None:
    file = prepared(tmp_path, [EXPORT["jobs"][1]])
    fruitless = orth("import", "xxl-job", "--from", str(file), "--group", "shop-executor", cwd=tmp_path)
    assert fruitless.returncode == 0, "the group that was named is there now"
    alone = orth("import", "xxl-job", "--from", str(file), cwd=tmp_path)
    assert (alone.returncode, alone.stderr) == (1, "")
    assert "not taken over" in alone.stdout
    file.write_text("[1]")
    broken = orth("import", "xxl-job", "--from", str(file), cwd=tmp_path)
    assert broken.returncode == 1
    assert broken.stderr.splitlines() == [
        "orth: The file is not an export of xxl-job: entry 1 of jobs is not an object."
    ]


def test_wrong_options_are_told(tmp_path: Path) -> None:
    file = prepared(tmp_path)
    assert orth("import", "xxl-job", cwd=tmp_path).returncode == 2
    wrong = orth("import", "xxl-job", "--from", str(file), "--group", "x=shop-executor", cwd=tmp_path)
    assert (wrong.returncode, wrong.stderr) == (2, "orth: --group 'x=shop-executor': write ID=APP_NAME or APP_NAME\n")
    assert orth("import", "xxl-job", "--from", str(file), "--timezone", "Mars/Base", cwd=tmp_path).returncode == 1


def test_an_offset_or_an_abbreviation_is_answered_with_the_names_of_zones(tmp_path: Path) -> None:
    file = prepared(tmp_path)
    for given, near in (("GMT+8", "Etc/GMT-8"), ("+08:00", "Etc/GMT-8"), ("CST", "America/Chicago")):
        refused = orth("import", "xxl-job", "--from", str(file), "--timezone", given, cwd=tmp_path)
        assert refused.returncode == 1
        assert "Asia/Shanghai" in refused.stderr
        assert near in refused.stderr


def test_a_database_is_imported_and_its_password_is_in_no_output(tmp_path: Path, mariadb_url: str) -> None:
    there = Installation(mariadb_url, "3.4")
    fill(there)
    there.execute("CREATE USER 'importer'@'%' IDENTIFIED BY 'hunter2'")
    there.execute(f"GRANT SELECT ON {mariadb_url.rsplit('/', 1)[1]}.* TO 'importer'@'%'")
    try:
        prepared(tmp_path)
        url = mariadb_url.replace("root@", "importer:hunter2@")
        from_option = orth("import", "xxl-job", "--from", url, "--timezone", "Asia/Shanghai", cwd=tmp_path)
        from_environment = orth("import", "xxl-job", cwd=tmp_path, ORTH_IMPORT_FROM=url, ORTH_DEBUG="1")
        wrong = orth("import", "xxl-job", "--from", f"{url}2", cwd=tmp_path, ORTH_DEBUG="1")
        closed = orth("import", "xxl-job", "--from", url.replace("hunter2@", "hunter2x@"), cwd=tmp_path)
    finally:
        there.execute("DROP USER 'importer'@'%'")
        there.close()
    assert [run.returncode for run in (from_option, from_environment)] == [0, 0], (from_option, from_environment)
    assert "jobs:    3 new" in from_option.stdout
    assert "jobs:    3 already here" in from_environment.stdout, "without a zone nothing is compared that depends on it"
    assert [run.returncode for run in (wrong, closed)] == [6, 6], (wrong, closed)
    for run in (from_option, from_environment, wrong, closed):
        assert "hunter2" not in run.stdout + run.stderr
    assert "Access denied" in closed.stderr


def test_help_is_there(tmp_path: Path) -> None:
    shown = orth("import", "xxl-job", "--help", cwd=tmp_path)
    assert shown.returncode == 0
    assert "--keep-running" in shown.stdout
    assert "import" in orth("--help", cwd=tmp_path).stdout
