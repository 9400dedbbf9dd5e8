"""Sockets and streams of a browser: opened by its cookie, and closed when its session ends, however that happens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from orth.coordinator.http.credentials import CSRF_HEADER
from orth.domain.sessions import SessionKind
from orth.store.sessions import end_sessions
from orth.store.users import find_user, set_disabled
from tests.coordinator.http.live import PASSWORD, Caller, Site
from tests.coordinator.http.scrolls import EXECUTIONS, Scroll, written
from tests.coordinator.http.test_live_socket import LiveSite, closed
from tests.coordinator.http.test_log_streams import stream, time_passing, told
from tests.servers.processes import wait_until

WITHIN = 10.0
NEW = "another good one"


class Browser:
    """A signed-in browser."""

    def __init__(self, site: Site) -> None:
        begun = site.session(kind=SessionKind.BROWSER)
        self.session_id = begun.session.id
        self.cookie = {"Cookie": f"orth-session={begun.session.id}.{begun.secret}"}
        self.caller = Caller(site.url, {**self.cookie, CSRF_HEADER: site.signing.csrf_token(self.session_id)})
        self.site = site

    @contextmanager
    def socket(self, path: str, **more: Any) -> Iterator[ClientConnection]:
        url = f"ws://127.0.0.1:{self.site.port}{path}"
        with connect(url, additional_headers=self.cookie, close_timeout=1, proxy=None, **more) as line:
            yield line


def sign_out(browser: Browser) -> None:
    assert browser.caller.post("/api/v1/auth/logout").status == 204


def end_from_elsewhere(browser: Browser) -> None:
    path = f"/api/v1/auth/sessions/{browser.session_id}"
    assert browser.site.admin().call("DELETE", path).status == 204


def change_password(browser: Browser) -> None:
    body = {"old_password": PASSWORD, "new_password": NEW}
    assert browser.site.admin().post("/api/v1/auth/password", body).status == 200


ON_THIS_NODE = [sign_out, end_from_elsewhere, change_password]


def end_on_another_node(browser: Browser) -> None:
    admin = browser.site.tx(find_user, "admin")
    assert admin is not None
    browser.site.tx(end_sessions, admin.id)


def disable(browser: Browser) -> None:
    admin = browser.site.tx(find_user, "admin")
    assert admin is not None
    browser.site.tx(set_disabled, admin.id, 1, 1)


@pytest.fixture
def live(prepared: Path, tmp_path: Path) -> Iterator[LiveSite]:
    (tmp_path / "orth.db").write_bytes(prepared.read_bytes())
    with LiveSite(tmp_path / "orth.db") as site:
        yield site
        wait_until(lambda: site.app.state.tools.feed.listeners == 0, "every listener to be let go", WITHIN)


@pytest.mark.parametrize("ending", [*ON_THIS_NODE, end_on_another_node, disable])
def test_the_live_socket_ends_with_the_session(live: LiveSite, ending: Callable[[Browser], None]) -> None:
    browser = Browser(live)
    with browser.socket("/ws") as line:
        ending(browser)
        assert closed(line) == (4401, "The session has ended.")


def test_the_live_socket_ends_when_the_browser_is_not_used(live: LiveSite) -> None:
    browser = Browser(live)
    with browser.socket("/ws") as line:
        live.clock.move(12 * 3600)
        assert closed(line)[0] == 4401


def test_an_open_socket_alone_keeps_nobody_signed_in(site: Site) -> None:
    with written(site, Scroll("one")) as one:
        browser = Browser(site)
        with browser.socket(f"{EXECUTIONS}/{one}/log/ws") as line:
            for _ in range(13):
                site.clock.move(3600)
            with time_passing(site):
                assert closed(line)[0] == 4401


def test_nobody_elses_socket_ends(live: LiveSite) -> None:
    one, other = Browser(live), Browser(live)
    with one.socket("/ws") as first, other.socket("/ws") as second:
        sign_out(one)
        assert closed(first)[0] == 4401
        second.send('{"type": "snapshot"}')
        assert second.recv(timeout=WITHIN)


def test_a_cookie_opens_no_socket_for_a_page_of_another_site(live: LiveSite) -> None:
    browser = Browser(live)
    with pytest.raises(InvalidStatus) as refused, browser.socket("/ws", origin=Origin("https://evil.example")):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("ending", ON_THIS_NODE)
def test_a_log_socket_ends_with_the_session_at_once(site: Site, ending: Callable[[Browser], None]) -> None:
    with written(site, Scroll("one")) as one:
        browser = Browser(site)
        with browser.socket(f"{EXECUTIONS}/{one}/log/ws") as line:
            assert told(line)["content"] == "one"
            ending(browser)  # no time passes here
            with pytest.raises(ConnectionClosed) as over:
                told(line)
        assert over.value.rcvd is not None
        assert (over.value.rcvd.code, over.value.rcvd.reason) == (4401, "The session has ended.")


def test_a_log_socket_ends_soon_when_the_session_ended_on_another_node(site: Site) -> None:
    with written(site, Scroll("one")) as one:
        browser = Browser(site)
        with browser.socket(f"{EXECUTIONS}/{one}/log/ws") as line:
            assert told(line)["content"] == "one"
            end_on_another_node(browser)
            with time_passing(site):
                assert closed(line)[0] == 4401


def test_a_log_stream_ends_with_the_session_at_once(site: Site) -> None:
    with written(site, Scroll("one")) as one:
        browser = Browser(site)
        with stream(site, one, Authorization="", **browser.cookie) as events:
            events.until(lambda seen: seen.texts() == ["one"])
            sign_out(browser)
            events.until(lambda seen: seen.of("closed"))
            assert events.of("closed") == [{"reason": "The session has ended."}]
            assert events.closed.wait(WITHIN)


def test_nothing_is_held_when_all_have_gone(site: Site) -> None:
    with written(site, Scroll("one")) as one:
        browser = Browser(site)
        with browser.socket(f"{EXECUTIONS}/{one}/log/ws") as line:
            told(line)
            assert site.app.state.tools.held._holders
        wait_until(lambda: not site.app.state.tools.held._holders, "the session to be let go", WITHIN)
