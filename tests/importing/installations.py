"""Databases of xxl-job in their generations, built by hand and filled by the test."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import create_engine, text

_GROUP = """CREATE TABLE {p}group (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, app_name varchar(64) NOT NULL,
  {title} NOT NULL, address_type tinyint NOT NULL DEFAULT 0, address_list text, {more} update_time datetime)"""
_INFO = """CREATE TABLE {p}info (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, job_group int NOT NULL,
  {name} varchar(255) NOT NULL, add_time datetime, update_time datetime, author varchar(64), alarm_email varchar(255),
  {schedule}, executor_route_strategy varchar(50), executor_handler varchar(255), executor_param {param},
  executor_block_strategy varchar(50), {more} executor_timeout int NOT NULL DEFAULT 0,
  executor_fail_retry_count int NOT NULL DEFAULT 0, glue_type varchar(50) NOT NULL DEFAULT 'BEAN',
  glue_source mediumtext, glue_remark varchar(128), glue_updatetime datetime, child_jobid varchar(255),
  trigger_status tinyint NOT NULL DEFAULT 0, trigger_last_time bigint NOT NULL DEFAULT 0,
  trigger_next_time bigint NOT NULL DEFAULT 0)"""
_SCHEDULE = """schedule_type varchar(50) NOT NULL DEFAULT 'NONE', schedule_conf varchar(128),
  misfire_strategy varchar(50) NOT NULL DEFAULT 'DO_NOTHING'"""
_LOGGLUE = """CREATE TABLE {p}logglue (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, job_id int NOT NULL,
  glue_type varchar(50), glue_source mediumtext, glue_remark varchar(128) NOT NULL, add_time datetime,
  update_time datetime)"""
_USER = """CREATE TABLE {p}user (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, username varchar(50) NOT NULL UNIQUE,
  password varchar(100) NOT NULL, {token} role tinyint NOT NULL, permission varchar(255))"""

GENERATIONS: dict[str, dict[str, str]] = {
    "2.2": {"schedule": "job_cron varchar(128) NOT NULL", "title": "title varchar(12)"},
    "2.3": {"title": "title varchar(12)"},
    "3.4": {"param": "text", "token": "token varchar(100),"},
    "3.5": {
        "param": "text",
        "token": "token varchar(100),",
        "title": "name varchar(64)",
        "name": "name",
        "group_more": "access_token varchar(255),",
    },
    "fork": {
        "p": "orth_job_",
        "info_more": "executor_concurrency int NOT NULL DEFAULT 1, super_task_id int NOT NULL DEFAULT 0,",
    },
}
"""What differs from the middle of the road, by version."""


class Installation:
    """The database of one xxl-job at ``url``."""

    def __init__(self, url: str, version: str) -> None:
        self.url = url
        self._engine = create_engine(url.replace("mysql://", "mysql+pymysql://"))
        own = GENERATIONS[version]
        self.prefix = own.get("p", "xxl_job_")
        parts = {
            "p": self.prefix,
            "title": own.get("title", "title varchar(64)"),
            "name": own.get("name", "job_desc"),
            "schedule": own.get("schedule", _SCHEDULE),
            "param": own.get("param", "varchar(512)"),
            "token": own.get("token", ""),
        }
        for statement, more in ((_GROUP, "group_more"), (_INFO, "info_more"), (_LOGGLUE, ""), (_USER, "")):
            self.execute(statement.format(**parts, more=own.get(more, "")))

    def execute(self, statement: str, values: Mapping[str, Any] | None = None) -> None:
        with self._engine.begin() as connection:
            connection.execute(text(statement), values or {})

    def add(self, table: str, **values: object) -> None:
        """Insert one row."""
        names = ", ".join(values)
        slots = ", ".join(f":{name}" for name in values)
        self.execute(f"INSERT INTO {self.prefix}{table} ({names}) VALUES ({slots})", values)

    def dump(self) -> dict[str, list[tuple[object, ...]]]:
        """Everything in it, to see that nothing was changed."""
        with self._engine.begin() as connection:
            tables = ("group", "info", "logglue", "user")
            return {
                name: [tuple(row) for row in connection.execute(text(f"SELECT * FROM {self.prefix}{name} ORDER BY id"))]
                for name in tables
            }

    def close(self) -> None:
        self._engine.dispose()


def fill(there: Installation, *, name: str = "job_desc", title: str = "title") -> None:
    """A small installation as people have them: two groups, jobs of every kind, scripts, users."""
    there.add("group", id=1, app_name="shop-executor", **{title: "Shop"}, address_type=0)
    there.add(
        "group",
        id=2,
        app_name="legacy-executor",
        **{title: "旧系统"},
        address_type=1,
        address_list="http://10.0.0.2:9999/,http://10.0.0.1:9999",
    )
    cron = {"schedule_type": "CRON", "schedule_conf": "0 0 2 * * ?"}
    there.add(
        "info",
        id=10,
        job_group=1,
        **{name: "nightly report"},
        author="li",
        alarm_email="ops@example.org",
        **cron,
        misfire_strategy="FIRE_ONCE_NOW",
        executor_route_strategy="CONSISTENT_HASH",
        executor_handler="report",
        executor_param="all",
        executor_block_strategy="COVER_EARLY",
        executor_timeout=600,
        executor_fail_retry_count=2,
        child_jobid="11,12",
        trigger_status=1,
    )
    there.add("info", id=11, job_group=1, **{name: "mail it"}, executor_handler="mail", glue_type="BEAN")
    there.add(
        "info",
        id=12,
        job_group=2,
        **{name: "clean up"},
        schedule_type="FIX_RATE",
        schedule_conf="30",
        executor_route_strategy="LEAST_FREQUENTLY_USED",
        executor_block_strategy="DISCARD_LATER",
        glue_type="GLUE_SHELL",
        glue_source="#!/bin/bash\necho hi\n",
        glue_updatetime="2024-03-01 12:00:00",
        trigger_status=1,
    )
    for remark in ("first", "second"):
        there.add(
            "logglue",
            job_id=12,
            glue_type="GLUE_SHELL",
            glue_source=f"echo {remark}",
            glue_remark=remark,
            add_time="2024-02-01 12:00:00",
            update_time="2024-02-01 12:00:00",
        )
    there.add("user", username="admin", password="e10adc3949ba59abbe56e057f20f883e", role=1)
    there.add("user", username="li", password="secret-hash", role=0, permission="2,1,99")
