"""Texts with a NUL, in whatever part of a request: refused as wrong, on every database, and never an error of ours."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.coordinator.http.live import ACCESS_TOKEN, Caller, Site, prepare_with_admin
from tests.coordinator.http.test_job_definitions import a_definition, fates, taken

NUL = "\x00"


@pytest.fixture
def anywhere(store_url: str, tmp_path: Path) -> Iterator[Site]:
    prepare_with_admin(store_url)
    with Site(tmp_path / "orth.db", url=store_url) as site:
        yield site


def test_a_definition_that_names_the_unstorable_is_refused_by_itself(anywhere: Site) -> None:
    anywhere.group()
    for field, value in (
        ("job_group", f"de{NUL}mo"),
        ("calendar_id", NUL),
        ("super_task_id", f"demo/{NUL}"),
        ("super_task_id", f"{NUL}/x"),
        ("child_jobid", ["demo/good", f"demo/{NUL}"]),
    ):
        for query in ("?dry_run=true", ""):
            bad = a_definition("bad", **{field: value})
            answer = taken(anywhere.admin(), bad, a_definition(f"good {field}"), query=query)
            assert fates(answer)[0] == "refuse"
            assert (answer["items"][0]["field"], answer["items"][0]["code"]) == (field, "text_unstorable")
            assert fates(answer)[1] in ("create", "same")


def _answers(anywhere: Site) -> dict[str, int]:
    """What is answered to everybody who says NUL."""
    admin, stranger = anywhere.admin(), anywhere.stranger()
    found = {path: admin.get(path).status for path in _asked_of_lists(admin)}
    for path in ("/api/v1/auth/login", "/api/v1/auth/session"):
        found[path] = stranger.post(path, {"username": f"a{NUL}", "password": "x" * 12}).status
    found["refresh"] = stranger.post("/api/v1/auth/refresh", {"refresh_token": NUL}).status
    found["link"] = stranger.post("/api/v1/auth/link", {"token": NUL}).status
    executor = Caller(anywhere.url, {"XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN})
    for key, value in ((f"demo{NUL}", "http://127.0.0.1:1"), ("demo", f"http://127.0.0.1:1/{NUL}")):
        beat = {"registryGroup": "EXECUTOR", "registryKey": key, "registryValue": value}
        found[f"registry {key!r}"] = executor.post("/api/registry", beat).status
    return found


def _asked_of_lists(admin: Caller) -> Iterator[str]:
    """Every reading route, with NUL for each text in its path and each parameter in turn."""
    for path, methods in admin.get("/api/openapi.json").json["paths"].items():
        if "get" not in methods:
            continue
        parts = path.split("/")
        here = "/".join("%00" if part.startswith("{") and not part.endswith("id}") else part for part in parts)
        here = "/".join("1" if part.startswith("{") else part for part in here.split("/"))
        yield here
        for one in methods["get"].get("parameters", []):
            if one["in"] == "query":
                yield f"{here}?{one['name']}={quote('a' + NUL)}"


def test_nothing_that_is_asked_for_with_a_nul_is_an_error_of_ours(anywhere: Site) -> None:
    found = _answers(anywhere)
    assert len(found) > 100
    assert {what: status for what, status in found.items() if status >= 500} == {}
