"""Cursors: every item once, in a stable order, whatever happens between the pages."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.coordinator.http.paging import page, position
from orth.domain.jobs import Job
from orth.errors import Invalid
from orth.store.database import Connection
from orth.store.jobs import create_job
from tests.coordinator.http.live import Caller, Site

LISTS = ("groups", "jobs", "executions", "calendars")


def cursor_of(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


@given(st.lists(st.integers(min_value=0, max_value=2**63 - 1), unique=True), st.integers(min_value=1, max_value=5))
def test_pages_together_are_the_list(keys: list[int], limit: int) -> None:
    keys.sort()
    seen: list[int] = []
    cursor: str | None = None
    while True:
        after = position(cursor)
        rows = [key for key in keys if after is None or key > after][: limit + 1]
        shown = page(rows, limit, lambda key: key, lambda key: key)
        seen += shown["items"]
        cursor = shown["next_cursor"]
        if cursor is None:
            break
        assert len(shown["items"]) == limit
    assert seen == keys


@given(st.text(max_size=100))
def test_any_other_text_is_refused_or_stands_for_a_key(text: str) -> None:
    try:
        key = position(text)
    except Invalid:
        return
    assert key is not None
    assert 0 <= key < 2**63


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "!!!!",
        "%00",
        "%F0%9F%98%80",
        cursor_of(b"-1"),
        cursor_of(b"1.5"),
        cursor_of(b"x"),
        cursor_of(b"1 OR 1=1"),
        cursor_of(b"\xff"),
        cursor_of(b"9223372036854775808"),
        cursor_of(b"9" * 40),
        "a" * 101,
    ],
)
def test_a_cursor_that_is_not_ours_is_refused(admin: Caller, name: str, cursor: str) -> None:
    assert admin.get(f"/api/v1/{name}?cursor={cursor}").problem(422)["errors"][0]["field"] == "cursor"


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("limit", ["0", "-1", "201", "1e9", "x", ""])
def test_a_limit_out_of_bounds_is_refused(admin: Caller, name: str, limit: str) -> None:
    assert admin.get(f"/api/v1/{name}?limit={limit}").problem(422)["errors"][0]["field"] == "limit"


@pytest.mark.parametrize("name", LISTS)
def test_the_largest_key_is_the_end_of_every_list(site: Site, admin: Caller, name: str) -> None:
    site.job()
    past_the_end = cursor_of(b"9223372036854775807")
    page = admin.get(f"/api/v1/{name}?cursor={past_the_end}").json
    assert (page["items"], page["next_cursor"]) == ([], None)


def test_what_is_added_or_deleted_between_pages_moves_nothing(site: Site, admin: Caller) -> None:
    group = site.group()
    ids = [site.job(job_group=group, job_desc=f"job {number}") for number in range(6)]
    first = admin.get("/api/v1/jobs?limit=3").json
    assert [job["id"] for job in first["items"]] == ids[:3]
    assert admin.call("DELETE", f"/api/v1/jobs/{ids[1]}").status == 204
    assert admin.call("DELETE", f"/api/v1/jobs/{ids[3]}").status == 204
    added = site.job(job_group=group)
    second = admin.get(f"/api/v1/jobs?limit=3&cursor={first['next_cursor']}").json
    assert [job["id"] for job in second["items"]] == [ids[4], ids[5], added]
    assert second["next_cursor"] is None


def test_executions_are_newest_first_and_new_ones_do_not_come_back(site: Site, admin: Caller) -> None:
    job_id = site.job()
    ids = [site.execution(job_id) for _ in range(5)]
    first = admin.get("/api/v1/executions?limit=2").json
    site.execution(job_id)
    second = admin.get(f"/api/v1/executions?limit=2&cursor={first['next_cursor']}").json
    third = admin.get(f"/api/v1/executions?limit=2&cursor={second['next_cursor']}").json
    assert [one["id"] for shown in (first, second, third) for one in shown["items"]] == ids[::-1]
    assert third["next_cursor"] is None


def test_two_hundred_at_once_and_the_rest_after(site: Site, admin: Caller) -> None:
    group = site.group()

    def fill(connection: Connection) -> None:
        for number in range(205):
            create_job(connection, Job(id=0, job_group=group, job_desc=f"job {number}"), site.clock.now())

    site.tx(fill)
    first = admin.get(f"/api/v1/jobs?limit=200&job_group={group}").json
    second = admin.get(f"/api/v1/jobs?limit=200&job_group={group}&cursor={first['next_cursor']}").json
    assert (len(first["items"]), len(second["items"]), second["next_cursor"]) == (200, 5, None)
