"""Whole imports: from a real xxl-job database of each generation into each kind of store."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import create_engine, select

from orth.coordinator.signing import password_fits
from orth.domain.access import Role
from orth.domain.jobs import (
    AddressType,
    BlockStrategy,
    GlueType,
    GroupDialect,
    Job,
    MisfireStrategy,
    RouteStrategy,
    ScheduleType,
)
from orth.errors import Invalid, OrthError, SchemaMismatch, StoreUnavailable
from orth.importing.report import Fate, Report
from orth.importing.storing import Wishes
from orth.importing.xxl_job import import_xxl_job
from orth.store.all_tables import metadata
from orth.store.database import open_database
from orth.store.engines import read_url
from orth.store.glue_versions import list_glue_versions
from orth.store.groups import list_groups
from orth.store.jobs import list_jobs
from orth.store.tables import users
from orth.store.users import find_user
from orth.testing.clocks import ManualClock
from tests.importing.conftest import Install
from tests.importing.installations import Installation, fill


class Store:
    """What is in a store, read anew each time."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = create_engine(read_url(url))

    def jobs(self) -> dict[str, Job]:
        with self.engine.begin() as connection:
            return {job.job_desc: job for job in list_jobs(connection, 0, 1000)}

    def contents(self) -> dict[str, list[tuple[object, ...]]]:
        with self.engine.begin() as connection:
            return {
                table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
                for table in metadata.sorted_tables
            }


def import_into(store: str, origin: str, **wishes: object) -> Report:
    return import_xxl_job(
        origin,
        store,
        timezone=wishes.pop("timezone", "Asia/Shanghai"),
        dry_run=bool(wishes.pop("dry_run", False)),
        wishes=Wishes(**wishes),  # type: ignore[arg-type]
        clock=ManualClock(),
    )


def fates(report: Report) -> list[tuple[str, int, Fate]]:
    return [(entry.origin.kind, entry.origin.id, entry.fate) for entry in report.entries]


def notes_of(report: Report, kind: str, number: int) -> str:
    (entry,) = [one for one in report.entries if (one.origin.kind, one.origin.id) == (kind, number)]
    return "; ".join(entry.notes)


def test_everything_arrives_in_our_words(install: Install, store: str) -> None:
    there = install("3.4")
    fill(there)
    before = there.dump()
    report = import_into(store, there.url)
    assert not report.fruitless
    assert {fate for _kind, _id, fate in fates(report) if _kind != "user"} == {Fate.CREATED}
    assert there.dump() == before
    here = Store(store)
    with here.engine.begin() as connection:
        shop, legacy = list_groups(connection, 0, 10)
        assert (shop.app_name, shop.title, shop.address_type, shop.dialect) == (
            "shop-executor",
            "Shop",
            AddressType.AUTO,
            GroupDialect.AUTO,
        )
        assert (legacy.title, legacy.addresses) == ("旧系统", ("http://10.0.0.2:9999", "http://10.0.0.1:9999"))
    jobs = here.jobs()
    report_job, mail, clean = jobs["nightly report"], jobs["mail it"], jobs["clean up"]
    assert (report_job.schedule_type, report_job.schedule_conf, report_job.timezone) == (
        ScheduleType.CRON,
        "0 0 2 * * ?",
        "Asia/Shanghai",
    )
    assert report_job.misfire_strategy is MisfireStrategy.FIRE_ONCE_NOW
    assert report_job.executor_route_strategy is RouteStrategy.CONSISTENT_HASH
    assert report_job.executor_block_strategy is BlockStrategy.COVER_EARLY
    assert (report_job.executor_timeout, report_job.executor_fail_retry_count) == (600, 2)
    assert (report_job.executor_handler, report_job.executor_param, report_job.author) == ("report", "all", "li")
    assert report_job.child_job_ids == (mail.id, clean.id)
    assert report_job.job_group == shop.id
    assert clean.job_group == legacy.id
    assert (clean.schedule_type, clean.schedule_conf) == (ScheduleType.FIX_RATE, "30")
    assert clean.executor_route_strategy is RouteStrategy.LEAST_FREQUENTLY_USED
    assert (clean.glue_type, clean.glue_source) == (GlueType.GLUE_SHELL, "#!/bin/bash\necho hi\n")
    noon_in_shanghai = int(datetime(2024, 3, 1, 4, tzinfo=UTC).timestamp() * 1000)
    assert clean.glue_updatetime == noon_in_shanghai
    assert not any(job.trigger_status for job in jobs.values())
    with here.engine.begin() as connection:
        assert [version.remark for version in list_glue_versions(connection, clean.id)] == ["second", "first"]
    assert report_job.alarm_email == "ops@example.org"
    assert notes_of(report, "job", 10) == ""
    assert "if its group allows scripts" in notes_of(report, "job", 12)
    assert report.to_allow == ((legacy.id, "legacy-executor"),)
    assert f"  legacy-executor: orth script allow {legacy.id}" in list(report.lines())


def test_users_come_without_passwords_and_the_administrator_not_at_all(install: Install, store: str) -> None:
    there = install("2.3")
    fill(there)
    report = import_into(store, there.url)
    here = Store(store)
    with here.engine.begin() as connection:
        rows = connection.execute(select(users)).all()
        groups = {group.app_name: group.id for group in list_groups(connection, 0, 10)}
        assert [(row.username, row.password, row.role) for row in rows] == [("li", "!", "")]
        li = find_user(connection, "li")
        assert li is not None
        assert li.grants == {groups["legacy-executor"]: Role.EDITOR, groups["shop-executor"]: Role.EDITOR}
        assert find_user(connection, "admin") is None
    assert not any(password_fits(guess, rows[0].password) for guess in ("", "!", "secret-hash", "123456"))
    assert "no password" in notes_of(report, "user", 2)
    assert "1 of the groups" in notes_of(report, "user", 2)


@pytest.mark.parametrize(
    ("version", "name", "title", "dialects"),
    [
        ("2.3", "job_desc", "title", (GroupDialect.AUTO, GroupDialect.XXL)),
        ("3.5", "name", "name", (GroupDialect.AUTO, GroupDialect.XXL35)),
        ("fork", "job_desc", "title", (GroupDialect.ORTH, GroupDialect.ORTH)),
    ],
)
def test_columns_that_were_renamed_came_or_went_are_tolerated(
    install: Install, sqlite_store: str, version: str, name: str, title: str, dialects: tuple[GroupDialect, ...]
) -> None:
    there = install(version)
    fill(there, name=name, title=title)
    if version == "3.5":
        there.execute("UPDATE xxl_job_group SET access_token = 'of-this-group'")
    there.execute(f"ALTER TABLE {there.prefix}info ADD COLUMN cost_centre varchar(10) DEFAULT 'x'")
    import_into(sqlite_store, there.url)
    here = Store(sqlite_store)
    assert sorted(here.jobs()) == ["clean up", "mail it", "nightly report"]
    with here.engine.begin() as connection:
        assert tuple(group.dialect for group in list_groups(connection, 0, 10)) == dialects, "automatic, manual"
        assert {group.title for group in list_groups(connection, 0, 10)} == {"Shop", "旧系统"}
    assert "of-this-group" not in str(here.contents())


def test_the_expressions_of_2_2_are_schedules(install: Install, sqlite_store: str) -> None:
    there = install("2.2")
    there.add("group", id=1, app_name="shop-executor", title="Shop")
    there.add("info", id=1, job_group=1, job_desc="old", job_cron="0 15 10 ? * MON-FRI", executor_handler="old")
    import_into(sqlite_store, there.url)
    old = Store(sqlite_store).jobs()["old"]
    assert (old.schedule_type, old.schedule_conf) == (ScheduleType.CRON, "0 15 10 ? * MON-FRI")


def test_concurrency_and_super_tasks_of_the_fork(install: Install, sqlite_store: str) -> None:
    there = install("fork")
    there.add("group", id=1, app_name="shop-executor", title="Shop")
    common = {"job_group": 1, "executor_block_strategy": "CONCURRENT", "executor_concurrency": 8}
    there.add("info", id=5, job_desc="super", executor_handler="work", **common)
    there.add("info", id=3, job_desc="sub", executor_handler="own", super_task_id=5, **common)
    there.add("info", id=7, job_desc="itself", executor_handler="own", super_task_id=7, **common)
    there.add("info", id=8, job_desc="chained", executor_handler="own", super_task_id=3, **common)
    there.add("info", id=9, job_desc="orphan", executor_handler="own", super_task_id=404, **common)
    report = import_into(sqlite_store, there.url)
    jobs = Store(sqlite_store).jobs()
    assert jobs["sub"].super_task_id == jobs["super"].id
    assert [jobs[name].super_task_id for name in ("super", "itself", "chained", "orphan")] == [0, 0, 0, 0]
    assert (jobs["sub"].executor_block_strategy, jobs["sub"].executor_concurrency) == (BlockStrategy.CONCURRENT, 8)
    assert "super task 3 has one itself" in notes_of(report, "job", 8)
    assert "super task 404 was not taken over" in notes_of(report, "job", 9)


def hostile(there: Installation) -> None:
    """Rows that xxl-job would let in, or that somebody wrote into its tables by hand."""
    there.add("group", id=1, app_name="shop-executor", title="Shop")
    there.execute("ALTER TABLE xxl_job_info MODIFY executor_param mediumtext")  # as some have done
    there.add("group", id=2, app_name="x", title="too short")
    there.add("group", id=3, app_name="white space", title="blank")
    there.add("group", id=4, app_name="bad-address", title="t", address_type=1, address_list="ftp://x,javascript:1")
    there.add("group", id=5, app_name="empty-manual", title="t", address_type=1, address_list="")
    rows: dict[int, dict[str, object]] = {
        20: {"schedule_type": "CRON", "schedule_conf": "0 0 2 * * ? 2020"},
        21: {"schedule_type": "CRON", "schedule_conf": "every day at noon"},
        22: {"schedule_type": "CRON", "schedule_conf": "0 2 * * *"},
        23: {"schedule_type": "FIX_RATE", "schedule_conf": "0"},
        24: {"schedule_type": "FIX_DELAY", "schedule_conf": "10"},
        25: {"schedule_type": "MOONPHASE", "schedule_conf": "full"},
        26: {"executor_route_strategy": "NEAREST", "executor_block_strategy": "MAYBE", "misfire_strategy": "PANIC"},
        27: {"glue_type": "GLUE_GROOVY", "glue_source": "class X {}"},
        28: {"glue_type": "GLUE_COBOL", "glue_source": "STOP RUN."},
        29: {"executor_handler": ""},
        30: {"job_group": 2},
        31: {"job_group": 99},
        32: {"executor_timeout": -5, "executor_fail_retry_count": 100_000},
        33: {"child_jobid": "34,33,no,,99999999999,404"},
        34: {"child_jobid": "33"},
        35: {"executor_param": "p" * 66_000},
        36: {"executor_handler": "bell\u0007"},
        37: {"job_desc": "line\nbreak \u202e right to left", "author": "  "},
        38: {"executor_param": "'; DROP TABLE orth_job_info; --", "job_desc": "Robert'); DROP TABLE students;--"},
    }
    for number, own in rows.items():
        row = {"job_group": 1, "job_desc": f"job {number}", "executor_handler": "h", "trigger_status": 1, **own}
        there.add("info", id=number, **row)
    there.add("user", username="o'brien", password="x", role=7, permission="1,abc")


def test_hostile_rows_are_refused_or_mended_each_by_itself(install: Install, store: str) -> None:
    there = install("3.4")
    hostile(there)
    report = import_into(store, there.url, keep_running=True)
    refused = {entry.origin.id: entry.notes[0] for entry in report.entries if entry.fate is Fate.REFUSED}
    assert {number for number in refused if number > 5} == {28, 29, 30, 31, 35, 36}
    assert "app_name" in refused[2]
    assert "app_name" in refused[3]
    assert "address_list" in refused[4]
    assert "glue_type 'GLUE_COBOL'" in refused[28]
    assert "names no handler" in refused[29]
    assert "--group 30" not in refused[30]
    assert "--group 2=APP_NAME" in refused[30]
    assert "--group 99=APP_NAME" in refused[31]
    assert "66,000 characters" in refused[35]
    jobs = Store(store).jobs()
    assert len(jobs) == 19 - 6
    for number in (20, 21, 22, 23, 25):
        job = jobs[f"job {number}"]
        assert (job.schedule_type, job.schedule_conf, job.trigger_status) == (ScheduleType.NONE, "", False)
        assert "without a schedule" in notes_of(report, "job", number)
    assert "no fire left" in notes_of(report, "job", 20)
    assert "not a Quartz expression" in notes_of(report, "job", 22)
    assert (jobs["job 24"].schedule_type, jobs["job 24"].trigger_status) == (ScheduleType.FIX_DELAY, False)
    assert jobs["job 26"].executor_route_strategy is RouteStrategy.FIRST
    assert "'NEAREST'" in notes_of(report, "job", 26)
    assert (jobs["job 27"].glue_type, jobs["job 27"].glue_source) == (GlueType.GLUE_GROOVY, "class X {}")
    assert "Groovy" in notes_of(report, "job", 27)
    assert (jobs["job 32"].executor_timeout, jobs["job 32"].executor_fail_retry_count) == (0, 100)
    assert jobs["job 33"].child_job_ids == (jobs["job 34"].id,)
    assert jobs["job 34"].child_job_ids == ()
    told = notes_of(report, "job", 33)
    assert "'no' is not an id" in told
    assert "'99999999999' is not an id" in told
    assert "child 404 was not taken over" in told
    assert "child 33 leads back" in told
    assert "line break   right to left" in jobs
    assert jobs["Robert'); DROP TABLE students;--"].executor_param == "'; DROP TABLE orth_job_info; --"
    assert all(line.isprintable() for line in report.lines())


def test_jobs_that_ran_go_on_only_when_asked_for(install: Install, store: str) -> None:
    there = install("3.4")
    fill(there)
    report = import_into(store, there.url, keep_running=True)
    assert report.started == 2
    jobs = Store(store).jobs()
    assert {name for name, job in jobs.items() if job.trigger_status} == {"nightly report", "clean up"}
    assert jobs["nightly report"].trigger_next_time > ManualClock().now()


def test_a_second_import_changes_nothing(install: Install, store: str) -> None:
    there = install("3.4")
    fill(there)
    for twin in (50, 51):  # two jobs that nothing but their id tells apart
        there.add("info", id=twin, job_group=1, job_desc="twin", executor_handler="twin")
    import_into(store, there.url)
    here = Store(store)
    before = here.contents()
    again = import_into(store, there.url, keep_running=True)
    assert here.contents() == before
    assert {fate for _kind, _id, fate in fates(again)} == {Fate.THERE}
    assert not again.fruitless


def test_what_was_changed_here_since_is_left_alone_and_told(install: Install, store: str) -> None:
    there = install("3.4")
    fill(there)
    import_into(store, there.url)
    there.execute("UPDATE xxl_job_info SET schedule_conf = '0 0 3 * * ?', executor_timeout = 5 WHERE id = 10")
    there.add("info", id=60, job_group=1, job_desc="new one", executor_handler="new", child_jobid="10")
    here = Store(store)
    old = here.jobs()["nightly report"]
    again = import_into(store, there.url)
    assert here.jobs()["nightly report"] == old
    assert notes_of(again, "job", 10) == "differs in schedule_conf, executor_timeout"
    assert here.jobs()["new one"].child_job_ids == (old.id,)


def test_a_dry_run_says_the_same_and_writes_nothing(install: Install, store: str) -> None:
    there = install("3.4")
    hostile(there)
    here = Store(store)
    before = here.contents()
    rehearsed = import_into(store, there.url, dry_run=True, keep_running=True)
    assert here.contents() == before
    real = import_into(store, there.url, keep_running=True)
    assert fates(rehearsed) == fates(real)
    assert [entry.notes for entry in rehearsed.entries] == [entry.notes for entry in real.entries]
    assert next(iter(rehearsed.lines())).startswith("Dry run")
    assert not next(iter(real.lines())).startswith("Dry run")


def test_a_failure_at_the_end_leaves_nothing(install: Install, sqlite_store: str) -> None:
    there = install("3.4")
    fill(there)
    here = Store(sqlite_store)
    with here.engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER no_users BEFORE INSERT ON orth_job_user BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    before = here.contents()
    with pytest.raises(Exception, match="no"):
        import_into(sqlite_store, there.url)
    assert here.contents() == before


@pytest.mark.parametrize(
    ("tables", "complaint"),
    [
        ("", "no xxl-job tables"),
        ("CREATE TABLE xxl_job_info (id int)", "no xxl-job tables"),
        (
            "CREATE TABLE orth_job_info (id int);CREATE TABLE orth_job_group (id int);"
            "CREATE TABLE orth_schema_version (version_num int)",
            "one of this Orth already",
        ),
        ("CREATE TABLE xxl_job_info (id int);CREATE TABLE xxl_job_group (id int)", "nothing to import"),
    ],
)
def test_a_database_that_is_not_one_is_refused(
    mariadb_url: str, sqlite_store: str, tables: str, complaint: str
) -> None:
    engine = create_engine(read_url(mariadb_url))
    with engine.begin() as connection:
        for statement in filter(None, tables.split(";")):
            connection.exec_driver_sql(statement)
    engine.dispose()
    with pytest.raises(Invalid, match=complaint):
        import_into(sqlite_store, mariadb_url)


@pytest.mark.parametrize(
    "change",
    [
        lambda url: url.replace("root@", "root:hunter2-wrong@"),
        lambda url: url.replace("root@", "nobody:hunter2@"),
        lambda url: url.replace("root@127.0.0.1", "root:hunter2@127.0.0.1").rsplit("/", 1)[0] + "/no_such_database",
        lambda url: f"mysql://root:hunter2@127.0.0.1:1/{url.rsplit('/', 1)[1]}",
        lambda _url: "mysql://root:hunter2@127.0.0.1:port/db",
        lambda _url: "mysql://root:hunter2@127.0.0.1",
        lambda _url: "postgresql://root:hunter2@127.0.0.1/db",
    ],
    ids=["password", "user", "database", "port", "no number", "no database", "scheme"],
)
def test_a_database_that_cannot_be_reached_is_told_without_the_password(
    mariadb_url: str, sqlite_store: str, change: object
) -> None:
    assert callable(change)
    before = Store(sqlite_store).contents()
    with pytest.raises((Invalid, StoreUnavailable)) as refused:
        import_into(sqlite_store, change(mariadb_url))
    assert "hunter2" not in str(refused.value)
    assert refused.value.__suppress_context__ or "hunter2" not in str(refused.value.__context__)
    assert Store(sqlite_store).contents() == before


def test_a_store_without_schema_is_refused_before_anything_is_read(sqlite_url: str) -> None:
    open_database(sqlite_url).close()  # which makes the file
    with pytest.raises(SchemaMismatch, match="orth db upgrade"):
        import_into(sqlite_url, "/no/such/file.json")


@pytest.mark.parametrize(
    ("wish", "complaint"), [({"timezone": "Mars/Olympus"}, "Mars"), ({"app_names": {0: "a b"}}, "app name")]
)
def test_wishes_that_cannot_be_are_refused(sqlite_store: str, wish: dict[str, object], complaint: str) -> None:
    with pytest.raises(OrthError, match=complaint):
        import_into(sqlite_store, "/no/such/file.json", **wish)


def test_no_group_gets_more_jobs_than_it_may_have(install: Install, sqlite_store: str) -> None:
    there = install("3.4")
    fill(there)
    jobs = [
        entry for entry in import_into(sqlite_store, there.url, jobs_per_group=1).entries if entry.origin.kind == "job"
    ]
    assert {entry.fate for entry in jobs} == {Fate.CREATED, Fate.REFUSED}
    groups = [job.job_group for job in Store(sqlite_store).jobs().values()]
    assert len(groups) == len(set(groups)) == 2
    assert all("has 1 jobs" in entry.notes[0] for entry in jobs if entry.fate is Fate.REFUSED)
