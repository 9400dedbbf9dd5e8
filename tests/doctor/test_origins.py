"""Pages and the live socket: of a real coordinator, and of servers that are wrong."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orth.doctor import Case, State
from orth.doctor.origins import look_at_origins
from orth.settings import Settings
from tests.coordinator.http.live import ACCESS_TOKEN, Site, prepared_database
from tests.doctor.places import COORDINATOR, case_of, only, serving
from tests.wire.live_server import LiveServer, sends

PAGE = "http://viz.example.org:5070"
OTHER = "https://orth.example.org"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    settings = Settings.model_validate({"console": {"base_url": PAGE}})
    folder: Path = tmp_path_factory.mktemp("origins")
    with Site(prepared_database(folder / "orth.db"), settings) as serving_site:
        yield serving_site


def looking(site_url: str, token: str = ACCESS_TOKEN, **console: object) -> Case:
    sections = {"executor": {"coordinators": [site_url]}, "security": {"access_token": token}, "console": console}
    return case_of(sections)


def test_the_coordinator_s_own_page_and_the_console_s(site: Site) -> None:
    own = only(look_at_origins(looking(site.url), site.url), State.OK)
    assert own.what == f"{site.url}: pages of {site.url} may open its live socket."
    both = look_at_origins(looking(site.url, base_url=PAGE), site.url)
    assert [(one.state, PAGE in one.what) for one in both] == [(State.OK, True), (State.OK, False)]


def test_a_page_the_coordinator_does_not_know(site: Site) -> None:
    refused, own = look_at_origins(looking(site.url, origins=[OTHER]), site.url)
    assert (refused.state, own.state) == (State.BAD, State.OK)
    assert f"pages of {OTHER} may not open" in refused.what
    assert f"Add {OTHER} to console.origins" in refused.next


def test_a_token_that_is_wrong_says_nothing_about_pages(site: Site) -> None:
    assert (
        "credential" in only(look_at_origins(looking(site.url, token="of another cluster"), site.url), State.WARN).what
    )


def test_a_port_that_browsers_do_not_open(site: Site) -> None:
    *_, verdict = look_at_origins(looking(site.url, origins=["http://apphost.example.org:5060"]), site.url)
    assert verdict.state is State.WARN
    assert verdict.what == "http://apphost.example.org:5060: browsers do not open port 5060."


def test_a_socket_that_lets_every_page_in() -> None:
    with LiveServer(200, sends(), sends()).running() as server:
        fine, verdict = look_at_origins(looking(server.url), server.url)
    assert (fine.state, verdict.state) == (State.OK, State.BAD)
    assert "pages of any other site" in verdict.what


def test_no_socket_and_nobody(free_port: int) -> None:
    with serving(COORDINATOR) as place:
        assert "no live socket" in only(look_at_origins(looking(place.url), place.url), State.WARN).what
    url = f"http://127.0.0.1:{free_port}"
    assert "not looked at" in only(look_at_origins(looking(url), url), State.WARN).what
