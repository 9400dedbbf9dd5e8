"""The line that tells pages where to look again: who may listen, what is told, and when it ends."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from urllib.parse import quote

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from orth.coordinator.http.changes import LOOK_EVERY, changed_since, differing, mark_of, marks
from orth.coordinator.signing import Signing
from orth.testing import ManualClock
from tests.coordinator.http.live import Site
from tests.coordinator.http.test_log_streams import time_passing
from tests.coordinator.http.test_session_ends import Browser, end_on_another_node, sign_out

WITHIN = 10.0


@contextmanager
def listening(site: Site, origin: str | None = None, since: str | None = None) -> Iterator[ClientConnection]:
    url = site.url.replace("http", "ws", 1) + "/api/v1/changes" + (f"?since={quote(since)}" if since else "")
    headers = {"Authorization": f"Bearer {site.access_token()}"}
    with connect(url, additional_headers=headers, origin=Origin(origin) if origin else None) as line:
        yield line


def told(line: ClientConnection) -> dict[str, object]:
    said: dict[str, object] = json.loads(line.recv(WITHIN))
    return said


def test_only_what_differs_is_named() -> None:
    assert differing({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}) == ["b", "c"]
    assert differing({"a": 1}, {"a": 1}) == []


def signing(secret: str = "a secret of the installation, long enough") -> Signing:
    return Signing(secret, ManualClock(), access=timedelta(minutes=5))


def test_a_mark_tells_what_is_another_since() -> None:
    """On another coordinator, too, which has the same secret."""
    mark, there = mark_of({"executions": (7, ()), "jobs": None}, signing()), signing()
    assert changed_since(mark, {"executions": (7, ()), "jobs": None}, there) == []
    assert changed_since(mark, {"executions": (8, ()), "jobs": None}, there) == ["executions"]
    assert changed_since(mark, {"executions": (7, ()), "jobs": None, "nodes": 1}, there) == ["nodes"]
    assert changed_since("who wrote this?", {"jobs": None}, there) == ["jobs"]


def test_a_mark_does_not_tell_the_numbers_it_is_made_of(own_site: Site) -> None:
    """They are few and small, so whoever could compute marks of them would find each by trying."""
    own_site.job()
    mark = Browser(own_site).caller.get("/api/v1/auth/session").json["changes_mark"]
    found = dict(one.split(":") for one in mark.split(","))
    assert {"executions", "services", "groups", "jobs"} <= set(found)
    tried = {repr(one) for number in range(2_000) for one in (number, (number, ()), (0, number), (number, None))}
    assert not {sha256(one.encode()).hexdigest()[:12] for one in tried} & set(found.values())


def test_a_mark_is_of_its_subject_and_of_its_installation() -> None:
    here = marks({"groups": 5, "services": 5}, signing())
    assert here["groups"] != here["services"]
    assert here["groups"] != marks({"groups": 5}, signing("another secret of some other place"))["groups"]


def test_what_changed_while_the_line_was_opened_is_told_first(own_site: Site) -> None:
    """A page is given its mark with the session, asks for its lists, and only then is the line there."""
    job_id = own_site.job()
    browser = Browser(own_site)
    mark = browser.caller.get("/api/v1/auth/session").json["changes_mark"]
    with time_passing(own_site):
        with listening(own_site, since=mark) as line:
            assert told(line) == {"type": "beat"}, "nothing has changed, so nothing is asked for again"
        own_site.execution(job_id)
        own_site.clock.move(2 * LOOK_EVERY)  # what was read before is not good any more: the first look sees it
        with listening(own_site, since=mark) as line:
            assert told(line) == {"type": "changed", "subjects": ["executions"]}


def test_an_execution_that_is_opened_is_told_of(own_site: Site) -> None:
    job_id = own_site.job()
    with time_passing(own_site), listening(own_site) as line:
        assert told(line) == {"type": "beat"}, "the first look is not a change"
        own_site.execution(job_id)
        while (said := told(line))["type"] == "beat":
            continue
        assert said == {"type": "changed", "subjects": ["executions"]}


def test_a_job_that_somebody_starts_or_stops_is_told_of(own_site: Site) -> None:
    job_id, admin = own_site.job(schedule_type="CRON", schedule_conf="0 0 2 * * ?"), own_site.admin()
    with time_passing(own_site), listening(own_site) as line:
        assert told(line) == {"type": "beat"}
        for deed in ("start", "stop"):
            assert admin.post(f"/api/v1/jobs/{job_id}/{deed}").status == 200
            while (said := told(line))["type"] == "beat":
                continue
            assert said == {"type": "changed", "subjects": ["jobs"]}


def test_who_has_other_rights_is_told_and_nobody_else(own_site: Site) -> None:
    admin, password = own_site.admin(), "a good one for oscar"
    oscar = admin.post("/api/v1/users", {"username": "oscar", "password": password, "role": "operator"}).json
    signed_in = admin.post("/api/v1/auth/login", {"username": "oscar", "password": password}).json
    theirs = {"Authorization": f"Bearer {signed_in['access_token']}"}
    url = own_site.url.replace("http", "ws", 1) + "/api/v1/changes"
    with (
        time_passing(own_site),
        connect(url, additional_headers=theirs) as line,
        listening(own_site) as other,
    ):
        assert (told(line), told(other)) == ({"type": "beat"}, {"type": "beat"})
        assert admin.call("PATCH", f"/api/v1/users/{oscar['id']}", {"role": "viewer"}).status == 200
        while (said := told(line))["type"] == "beat":
            continue
        assert said == {"type": "changed", "subjects": ["session"]}
        group = own_site.group("taken-away")
        assert admin.call("PUT", f"/api/v1/users/{oscar['id']}/grants/{group}", {"role": "editor"}).status == 200
        while "session" not in str(said := told(line)):
            continue
        assert {str(told(other)) for _ in range(3)} <= {str({"type": "beat"}), _changed("groups"), _changed("jobs")}


def _changed(subject: str) -> str:
    return str({"type": "changed", "subjects": [subject]})


def test_rights_that_changed_while_the_line_was_opened_are_told_first(own_site: Site) -> None:
    browser = Browser(own_site)
    mark = browser.caller.get("/api/v1/auth/session").json["changes_mark"]
    before = next(one for one in mark.split(",") if one.startswith("session:"))
    with time_passing(own_site), listening(own_site, since=mark.replace(before, "session:of-other-rights")) as line:
        assert told(line) == {"type": "changed", "subjects": ["session"]}


def test_a_line_without_news_beats(own_site: Site) -> None:
    with time_passing(own_site), listening(own_site) as line:
        assert [told(line), told(line)] == [{"type": "beat"}, {"type": "beat"}]


def test_nobody_listens_without_a_credential_or_from_another_site(site: Site) -> None:
    url = site.url.replace("http", "ws", 1) + "/api/v1/changes"
    with pytest.raises(InvalidStatus) as refused, connect(url):
        pass
    assert refused.value.response.status_code == 401
    with pytest.raises(InvalidStatus) as refused, listening(site, "https://elsewhere.example"):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("ending", [sign_out, end_on_another_node])
def test_the_line_ends_with_the_session(own_site: Site, ending: Callable[[Browser], None]) -> None:
    browser = Browser(own_site)
    with time_passing(own_site), browser.socket("/api/v1/changes") as line:
        assert told(line) == {"type": "beat"}
        ending(browser)
        assert code_of_the_end(line) == 4401


def code_of_the_end(line: ClientConnection) -> int | None:
    try:
        while True:
            told(line)
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else None
