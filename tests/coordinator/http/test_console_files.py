"""The console as it is served: pages at every depth, files for ever, and nothing in the way of the API."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3
from starlette.applications import Starlette

from orth.coordinator.http.console_files import ConsoleFiles
from tests.coordinator.http.live import Caller
from tests.coordinator.http.served_app import served

PAGE = '<html><head><base href="./"><meta property="csp-nonce" nonce="__ORTH_NONCE__"></head></html>'
SCRIPT = "export const answer = 42;\n" * 100
HTML = {"Accept": "text/html,*/*;q=0.8"}
HTTP = urllib3.PoolManager(retries=False, timeout=10)


class Browser:
    def __init__(self, url: str) -> None:
        self._url = url

    def ask(self, path: str, method: str = "GET", **headers: str) -> urllib3.BaseHTTPResponse:
        return HTTP.request(method, self._url + path, headers=headers, decode_content=False)

    def page(self, path: str) -> urllib3.BaseHTTPResponse:
        return self.ask(path, **HTML)


def app_of(folder: Path) -> Starlette:
    app = Starlette()
    app.router.default = ConsoleFiles(app.router.default, folder, "https://orth.example.org/tools/orth")
    return app


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    folder = tmp_path_factory.mktemp("built") / "console"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "assets" / "main-1a2b.js").write_text(SCRIPT)
    (folder / "orth.svg").write_text("<svg/>")
    (folder / "secret.txt").write_text("not of a kind that is served")
    (folder.parent / "outside.js").write_text("not inside")
    with served(app_of(folder)) as url:
        yield Browser(url)


@pytest.mark.parametrize(
    ("path", "base"),
    [
        ("/", "./"),
        ("/jobs", "./"),
        ("/jobs/", "../"),
        ("/jobs/7/edit", "../../"),
        ("/a/b/c/", "../../../"),
        ("/a%2Fb%2fc", "./"),
        ("/a%2Fb/c?d=/e", "../"),
    ],
)
def test_a_page_at_any_depth_finds_the_root(console: Browser, path: str, base: str) -> None:
    answer = console.page(path)
    assert answer.status == 200
    assert f'<base href="{base}">' in answer.data.decode()


@pytest.mark.parametrize(
    ("path", "host", "base"),
    [
        ("/", "orth.example.org", "/tools/orth/"),  # asked for as /tools/orth, or with a slash: it looks the same here
        ("/", "Orth.example.org:443", "/tools/orth/"),
        ("/", "127.0.0.1:5080", "./"),
        ("/jobs/7", "orth.example.org", "../"),
    ],
)
def test_the_prefix_alone_leads_to_the_root_as_well(console: Browser, path: str, host: str, base: str) -> None:
    assert f'<base href="{base}">' in console.ask(path, **HTML, Host=host).data.decode()


def test_whatever_looks_for_the_console_at_its_root_finds_it(console: Browser) -> None:
    assert console.ask("/", Accept="*/*").status == 200
    assert console.ask("/").status == 200
    assert console.ask("/jobs", Accept="*/*").status == 404, "a program that asks for something that is not there"


def test_the_nonce_is_another_one_each_time_and_the_policy_names_it(console: Browser) -> None:
    first, second = console.page("/"), console.page("/")
    nonce = first.data.decode().partition('nonce="')[2].partition('"')[0]
    assert len(nonce) >= 20
    assert nonce not in second.data.decode()
    policy = first.headers["content-security-policy"]
    assert f"'nonce-{nonce}'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert first.headers["cache-control"] == "no-store"
    assert first.headers["x-content-type-options"] == "nosniff"
    assert first.headers["referrer-policy"] == "same-origin"


def test_a_file_named_by_its_content_is_kept_for_ever(console: Browser) -> None:
    answer = console.ask("/assets/main-1a2b.js")
    assert answer.data.decode() == SCRIPT
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/javascript")
    assert console.ask("/orth.svg").headers["cache-control"] == "no-cache"


def test_a_file_is_packed_for_who_takes_it(console: Browser) -> None:
    answer = console.ask("/assets/main-1a2b.js", **{"Accept-Encoding": "br, gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(answer.data).decode() == SCRIPT
    assert len(answer.data) < len(SCRIPT) / 4


@pytest.mark.parametrize(
    "path", ["/assets/%2e%2e/%2e%2e/outside.js", "/assets/..%2f..%2foutside.js", "/secret.txt", "//outside.js"]
)
def test_nothing_else_is_served(console: Browser, path: str) -> None:
    answer = console.ask(path)
    assert answer.status == 404
    assert b"not inside" not in answer.data


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api", "/ws", "/metrics", "/health/nothing", "/xxl-job-admin/x"])
def test_what_belongs_to_the_api_is_left_to_it(console: Browser, path: str) -> None:
    assert console.page(path).status == 404


def test_only_reading_and_only_browsers_get_a_page(console: Browser) -> None:
    assert console.ask("/jobs", "POST", **HTML).status == 404
    assert console.ask("/jobs", Accept="application/json").status == 404
    assert console.ask("/jobs", "HEAD", **HTML).status == 200


def test_without_a_built_console_a_page_says_what_to_do(tmp_path: Path) -> None:
    with served(app_of(tmp_path / "nothing")) as url:
        answer, root = Browser(url).page("/jobs/1"), Browser(url).ask("/", Accept="*/*")
        assert Browser(url).ask("/jobs/1").status == 404
    assert (root.status, root.data[:15]) == (503, b"<!doctype html>"), "also for curl"
    assert answer.status == 503
    assert b"make console" in answer.data
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


def test_strangers_get_the_page_and_nothing_of_the_api(stranger: Caller) -> None:
    assert stranger.call("GET", "/jobs/1", headers=HTML).status in (200, 503)
    stranger.get("/api/v1/jobs").problem(401)
    stranger.get("/api/v1/nothing").problem(404)
