"""Reading: no GET changes anything (A27), and no text in a query is taken for a statement or a pattern (A59, A60)."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.coordinator.http.live import Site, assert_tells_nothing_inside, prepared_database
from tests.coordinator.http.rights_site import RightsSite
from tests.coordinator.http.test_rights import RULES

HOSTILE = [
    "' OR '1'='1",
    '" OR 1=1 --',
    "1; DROP TABLE orth_job_info",
    "1 UNION SELECT password FROM orth_job_user",
    "%",
    "_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%",
    "\\",
    "(a+)+$",
    "id) --",
    "\x00",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
]
QUERIES = [
    ("/api/v1/executions", ("status", "since", "until", "job_id", "text", "cursor", "limit", "sort", "order_by")),
    ("/api/v1/jobs", ("job_group", "group_id", "name", "text", "cursor", "limit", "sort")),
    ("/api/v1/groups", ("app_name", "text", "cursor", "limit", "sort")),
    ("/api/v1/executors", ("app_name", "status", "cursor", "limit")),
    ("/api/v1/audit", ("actor", "action", "object", "since", "until", "cursor", "format")),
    ("/api/v1/users", ("name", "cursor", "limit", "sort")),
    ("/api/v1/alarms", ("job_id", "status", "cursor", "limit")),
    ("/api/v1/stats", ("job_id", "since", "until", "bucket", "group_id")),
]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RightsSite]:
    """A coordinator with two groups and one of everything in each."""
    folder = tmp_path_factory.mktemp("reading")
    prepared = prepared_database(folder / "prepared.db")
    with Site(Path(shutil.copy(prepared, folder / "orth.db"))) as site:
        yield RightsSite(site)


def contents(whole: RightsSite) -> dict[str, list[dict[str, Any]]]:
    return whole.site.contents()


def reading_routes() -> list[str]:
    return [route.removeprefix("GET ") for route in RULES if route.startswith("GET ")]


def filled(path: str, whole: RightsSite) -> str:
    """``path`` with ids of things that are there."""
    for name, value in vars(whole.ours).items():
        path = path.replace(f"{{{name}_id}}", str(value))
    while "{" in path:
        before, _, rest = path.partition("{")
        path = f"{before}1{rest.partition('}')[2]}"
    return path


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_no_reading_changes_anything(whole: RightsSite, method: str) -> None:
    before = contents(whole)
    admin = whole.callers["administrator"]
    asked = [path for path in reading_routes() if not path.endswith("/stream")]
    assert len(asked) > 40
    statuses = [admin.call(method, filled(path, whole)).status for path in asked]
    assert not any(status >= 500 and status != 503 for status in statuses), dict(zip(asked, statuses, strict=True))
    assert contents(whole) == before


@pytest.mark.parametrize(("path", "names"), QUERIES, ids=[path for path, _ in QUERIES])
def test_what_is_asked_for_is_data(whole: RightsSite, path: str, names: tuple[str, ...]) -> None:
    before = contents(whole)
    admin = whole.site.admin()
    for name in names:
        for text in HOSTILE:
            answer = admin.get(f"{path}?{name}={quote(text)}")
            assert answer.status < 500, (name, text, answer.body)
            said = answer.body.replace(json.dumps(text, ensure_ascii=False)[1:-1].encode(), b"")
            assert_tells_nothing_inside(said)
    assert contents(whole) == before
