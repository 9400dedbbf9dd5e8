"""The log of an execution through a coordinator, from real executors that behave or do not."""

import http.client
import re
import threading
import time
from typing import Any
from urllib.parse import quote

import pytest

from orth.coordinator.logs import expressions, searching
from orth.coordinator.logs.blocks import packed
from orth.coordinator.logs.pages import Lines
from orth.store.dispatching import Assignment, assign_executions
from orth.store.executions import Ending, end_executions
from orth.store.log_archives import ArchivedLog, keep_archive
from tests.coordinator.http.live import ACCESS_TOKEN, LOG_PATIENCE, Caller, Site
from tests.coordinator.http.scrolls import EXECUTIONS, Scroll, end, serving, taken_by, written
from tests.wire.peers import Exchange, Peer, answering, refusing


def lines(first: int, last: int, content: str = "", *, end: bool = False, key: str = "isEnd") -> dict[str, Any]:
    return {"fromLineNum": first, "toLineNum": last, "logContent": content, key: end}


def test_a_page_of_log_comes_through_as_it_is(site: Site, admin: Caller) -> None:
    with Peer(answering(lines(3, 4, "three\nfour"))) as peer:
        execution_id = taken_by(site, peer.address)
        answer = admin.get(f"{EXECUTIONS}/{execution_id}/log?from=3")
    assert answer.json == {"from_line": 3, "to_line": 4, "content": "three\nfour", "end": False}
    (asked,) = peer.requests
    assert asked.path == "/log"
    body = asked.json()
    assert isinstance(body, dict)
    assert (body["logId"], body["fromLineNum"]) == (execution_id, 3)
    assert body["logDateTim"] == body["logDateTime"] == site.clock.now()
    assert asked.headers["xxl-job-access-token"] == ACCESS_TOKEN


@pytest.mark.parametrize("key", ["isEnd", "end"])
@pytest.mark.parametrize("ended", [True, False])
def test_the_end_is_where_the_executor_says_once_the_execution_is_over(
    site: Site, admin: Caller, key: str, ended: bool
) -> None:
    with Peer(answering(lines(1, 2, "one\ntwo", end=ended, key=key))) as peer:
        execution_id = taken_by(site, peer.address)
        # A foreign executor calls every end of the file the end, also while the handler still writes.
        assert admin.get(f"{EXECUTIONS}/{execution_id}/log").json["end"] is False
        end(site, execution_id)
        # More lines may come as long as lines come, though the execution is over.
        assert admin.get(f"{EXECUTIONS}/{execution_id}/log").json["end"] is ended


@pytest.mark.parametrize("nothing_new", [lines(5, 4), lines(5, 0), lines(5, 2), lines(5, 5), {}, None], ids=str)
def test_nothing_new_is_the_end_only_when_the_execution_is_over(
    site: Site, admin: Caller, nothing_new: dict[str, Any] | None
) -> None:
    with Peer(answering(nothing_new)) as peer:
        execution_id = taken_by(site, peer.address)
        where = f"{EXECUTIONS}/{execution_id}/log?from=5"
        assert admin.get(where).json == {"from_line": 5, "to_line": 4, "content": "", "end": False}
        end(site, execution_id)
        assert admin.get(where).json == {"from_line": 5, "to_line": 4, "content": "", "end": True}


def test_the_note_of_an_executor_without_the_log_comes_with_the_end(site: Site, admin: Caller) -> None:
    with Peer(answering(lines(1, 0, "it was cleaned up", end=True))) as peer:
        execution_id = taken_by(site, peer.address)
        waiting = admin.get(f"{EXECUTIONS}/{execution_id}/log").json
        end(site, execution_id)
        shown = admin.get(f"{EXECUTIONS}/{execution_id}/log").json
    assert waiting == {"from_line": 1, "to_line": 0, "content": "", "end": False}
    assert shown == {"from_line": 1, "to_line": 0, "content": "it was cleaned up", "end": True}


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "another make"])
def test_the_log_of_a_refused_execution_says_why_it_was_refused(site: Site, admin: Caller, ours: bool) -> None:
    with Peer(answering(lines(1, 0, "readLog fail, logFile not exists", end=True))) as peer:
        execution_id = site.execution(site.job())
        sent = Assignment(execution_id, peer.address, "process-1" if ours else None, "routed")
        site.tx(assign_executions, [sent], 1, site.clock.now())
        refused = Ending(execution_id=execution_id, trigger_code=500, trigger_msg="It refused: no handler.")
        site.tx(end_executions, [refused], site.clock.now())
        shown = admin.get(f"{EXECUTIONS}/{execution_id}/log").json
    assert shown == {"from_line": 1, "to_line": 0, "content": "It refused: no handler.", "end": True}


def test_an_execution_nobody_was_sent_has_no_lines_yet(site: Site, admin: Caller) -> None:
    shown = admin.get(f"{EXECUTIONS}/{site.execution(site.job())}/log?from=7").json
    assert shown == {"from_line": 7, "to_line": 6, "content": "", "end": False}


def test_an_executor_that_is_gone_is_a_clear_problem(site: Site, admin: Caller) -> None:
    with refusing() as address:
        answer = admin.get(f"{EXECUTIONS}/{taken_by(site, address)}/log")
    said = answer.problem(503)
    assert address.removeprefix("http://") in said["detail"]
    assert answer.headers["retry-after"]


def test_an_executor_that_hangs_is_waited_for_no_longer_than_is_set(site: Site, admin: Caller) -> None:
    with Peer(Exchange.hang) as peer:
        execution_id = taken_by(site, peer.address)
        began = time.monotonic()
        said = admin.get(f"{EXECUTIONS}/{execution_id}/log").problem(503)
    assert f"no answer within {LOG_PATIENCE:g} s" in said["detail"]
    assert time.monotonic() - began < LOG_PATIENCE + 5


def respond(status: int, body: bytes) -> Any:
    return lambda exchange: exchange.respond(body, status=status)


@pytest.mark.parametrize(
    "behaviour",
    [
        answering(code=500, msg="no such log"),
        answering(lines(1, 2) | {"fromLineNum": "x"}),
        answering(lines(1, 2) | {"toLineNum": 10**12}),
        answering(lines(1, 2) | {"toLineNum": 1.5}),
        answering(lines(1, 2**31 - 1, "one")),
        answering(lines(1, 3, "one\ntwo")),
        answering(lines(500, 501, "of\nothers")),
        respond(200, b"<html>hello</html>"),
        respond(200, b""),
        respond(200, b"["),
        respond(401, b'{"code": 500, "msg": "token"}'),
        respond(404, b"not here"),
        respond(500, b"Traceback"),
        respond(502, b"bad gateway"),
        respond(302, b""),
        lambda exchange: exchange.respond(b"x" * 17 * 1024 * 1024),
        Exchange.reset,
        Exchange.close,
    ],
)
def test_an_executor_that_talks_nonsense_is_a_problem_of_its_own(site: Site, admin: Caller, behaviour: Any) -> None:
    with Peer(behaviour) as peer:
        one = taken_by(site, peer.address)
        answers = [admin.get(f"{EXECUTIONS}/{one}/log{how}") for how in ("", "?tail=3", "/search?q=a", "/download")]
    for answer in answers:
        assert answer.status == 503
        assert peer.address in answer.json["detail"]


@pytest.mark.parametrize("line", ["0", "-1", "2147483648", "9" * 30, "x", "1.5", ""])
def test_a_line_out_of_range_is_refused(site: Site, admin: Caller, line: str) -> None:
    said = admin.get(f"{EXECUTIONS}/{site.execution(site.job())}/log?from={line}").problem(422)
    assert said["errors"][0]["field"] == "from"


def test_a_log_is_text_whatever_is_in_it(site: Site, admin: Caller) -> None:
    with Peer(answering(lines(1, 1, "a\x00b <script> \ud83d \x1b[31m"))) as peer:
        shown = admin.get(f"{EXECUTIONS}/{taken_by(site, peer.address)}/log")
    assert shown.content_type == "application/json"
    assert shown.json["content"] == "a\ufffdb <script> \ufffd \x1b[31m"


# --- parts of it


def numbered(count: int) -> list[str]:
    return [f"line {number}" for number in range(1, count + 1)]


def test_as_many_lines_as_are_asked_for(site: Site, admin: Caller) -> None:
    with written(site, Scroll(*numbered(5))) as one:
        assert admin.get(f"{EXECUTIONS}/{one}/log?from=2&limit=2").json == {
            "from_line": 2,
            "to_line": 3,
            "content": "line 2\nline 3",
            "end": False,
        }
        assert admin.get(f"{EXECUTIONS}/{one}/log?from=4&limit=2").json["to_line"] == 5
        for wrong in ("limit=0", "limit=1001", "limit=x", "tail=0", "tail=1001", "tail=-1"):
            admin.get(f"{EXECUTIONS}/{one}/log?{wrong}").problem(422)


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "another make"])
def test_the_last_lines_whoever_has_them(site: Site, admin: Caller, ours: bool) -> None:
    scroll = Scroll(*numbered(2500), ours=ours)
    with written(site, scroll) as one:
        shown = admin.get(f"{EXECUTIONS}/{one}/log?tail=2").json
        assert (shown["from_line"], shown["to_line"]) == (2499, 2500)
        assert shown["content"] == "line 2499\nline 2500"
        assert not shown["end"], "it still runs"
        assert len(scroll.asked) == (1 if ours else 4), "from the beginning to where nothing more comes"
        end(site, one)
        scroll.finish()
        assert admin.get(f"{EXECUTIONS}/{one}/log?tail=1000").json["end"]


def test_the_last_lines_of_no_log_are_none(site: Site, admin: Caller) -> None:
    assert admin.get(f"{EXECUTIONS}/{site.execution(site.job())}/log?tail=5").json["to_line"] == 0
    with written(site, Scroll(ours=False)) as one:
        assert admin.get(f"{EXECUTIONS}/{one}/log?tail=5").json["content"] == ""


def test_executors_of_another_make_are_asked_for_nothing_they_do_not_know(site: Site, admin: Caller) -> None:
    scroll = Scroll("a", ours=False)
    with written(site, scroll) as one:
        admin.get(f"{EXECUTIONS}/{one}/log?tail=2")
    assert set(scroll.asked[0]) == {"logId", "logDateTime", "logDateTim", "fromLineNum"}


def test_the_markup_of_xxl_jobs_own_lines_is_left_out(site: Site, admin: Caller) -> None:
    start = (
        "2026-01-30 10:00:00 [x.Job#run]-[<br>----------- xxl-job job execute start -----------<br>----------- Param:1"
    )
    with written(site, Scroll(start, "a<br>b", "<br>", ours=False)) as one:
        lines = admin.get(f"{EXECUTIONS}/{one}/log").json["content"].split("\n")
    assert lines[0].endswith("[ ----------- xxl-job job execute start ----------- ----------- Param:1")
    assert lines[1] == "a<br>b", "what the job itself wrote stays"


# --- the whole of it


def test_a_download_is_the_whole_text_as_a_file(site: Site, admin: Caller) -> None:
    scroll = Scroll(*numbered(2500), "<script>alert(1)</script> \x1b[2J")
    with written(site, scroll) as one:
        got = admin.get(f"{EXECUTIONS}/{one}/log/download")
    assert got.status == 200
    assert got.headers["content-type"] == "text/plain; charset=utf-8"
    assert got.headers["content-disposition"] == f'attachment; filename="execution-{one}.log"'
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.body.decode() == "".join(f"{text}\n" for text in scroll.texts)
    assert len(scroll.asked) >= 3, "page by page"


def test_a_download_that_cannot_begin_is_a_problem(site: Site, admin: Caller) -> None:
    with refusing() as address:
        admin.get(f"{EXECUTIONS}/{taken_by(site, address)}/log/download").problem(503)
    admin.get(f"{EXECUTIONS}/4711/log/download").problem(404)


def test_half_a_download_cannot_be_taken_for_a_whole_one(site: Site, admin: Caller) -> None:
    def break_off(exchange: Exchange) -> None:
        asked = exchange.request.json()
        assert isinstance(asked, dict)
        if asked["fromLineNum"] > 1:
            exchange.reset()
        else:
            answering(lines(1, 1, "first"))(exchange)

    with Peer(break_off) as peer:
        one = taken_by(site, peer.address)
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=10)
        connection.request("GET", f"{EXECUTIONS}/{one}/log/download", headers=admin.headers)
        answer = connection.getresponse()
        with pytest.raises(http.client.IncompleteRead) as broken:
            answer.read()
    assert broken.value.partial == b"first\n"


# --- what it says


def search(admin: Caller, one: int, wanted: str, **more: object) -> dict[str, Any]:
    query = "&".join(f"{name}={value}" for name, value in more.items())
    found: dict[str, Any] = admin.get(f"{EXECUTIONS}/{one}/log/search?q={quote(wanted)}&{query}").json
    return found


def test_a_search_finds_lines_and_says_how_far_it_looked(site: Site, admin: Caller) -> None:
    with written(site, Scroll(*numbered(2500))) as one:
        found = search(admin, one, "e 250")
        assert [(hit["line"], hit["text"]) for hit in found["matches"]] == [(250, "line 250"), (2500, "line 2500")]
        assert (found["from_line"], found["to_line"], found["end"]) == (1, 2500, False)
        first = search(admin, one, "line", limit=2)
        assert ([hit["line"] for hit in first["matches"]], first["to_line"], first["end"]) == ([1, 2], 2, False)
        following = search(admin, one, "line", limit=1, **{"from": first["to_line"] + 1})
        assert [hit["line"] for hit in following["matches"]] == [3]
        assert search(admin, one, "LINE 7")["matches"] == []
        assert len(search(admin, one, "LINE 77", ignore_case="true")["matches"]) == 11


def test_a_search_ends_as_early_as_it_is_asked_to(site: Site, admin: Caller) -> None:
    class Slow(Scroll):
        def answer(self, exchange: Exchange) -> None:
            site.clock.move(1)
            super().answer(exchange)

    with written(site, Slow(*numbered(2500))) as one:
        first = search(admin, one, "line 99", patience=0.5)
        assert (first["matches"][0]["line"], first["end"]) == (99, False)
        assert first["to_line"] == 1000, "it had no time for a second page"
        assert search(admin, one, "line 99")["to_line"] == 2500
        first = search(admin, one, "line 999", patience=0.5, level="other", **{"from": 2_100})
        assert first["to_line"] >= 2_100, "what it sees before the first line is no answer"
        for wrong in ("0", "11", "soon"):
            admin.get(f"{EXECUTIONS}/{one}/log/search?q=x&patience={wrong}").problem(422)


@pytest.mark.parametrize("complete", [True, False])
def test_a_search_in_a_copy_says_whether_it_lacks_lines(site: Site, admin: Caller, complete: bool) -> None:
    with written(site, Scroll("one", "two")) as one:
        assert search(admin, one, "two")["lacking"] is False, "its executor has all of it"
    with refusing() as nobody:
        one = taken_by(site, nobody)
        end(site, one)
        kept = ArchivedLog(execution_id=one, stored_at=site.clock.now(), lines=2, size=8, complete=complete, place=None)
        site.tx(keep_archive, kept, packed(Lines(1, 2, ["one", "two"])))
        found = search(admin, one, "two")
        assert [hit["line"] for hit in found["matches"]] == [2]
        assert found["lacking"] is not complete


def test_a_search_is_literal_unless_it_is_said_to_be_a_regular_expression(site: Site, admin: Caller) -> None:
    with written(site, Scroll("a.c", "abc", "[x]", "total 12 of 99")) as one:
        assert [hit["line"] for hit in search(admin, one, "a.c")["matches"]] == [1]
        assert [hit["line"] for hit in search(admin, one, "[x]")["matches"]] == [3]
        assert [hit["line"] for hit in search(admin, one, "a.c", regex="true")["matches"]] == [1, 2]
        assert [hit["line"] for hit in search(admin, one, r"\d+ OF \d+", regex="true", ignore_case="1")["matches"]] == [
            4
        ]
        said = admin.get(f"{EXECUTIONS}/{one}/log/search?q=(&regex=true").problem(422)
        assert said["errors"][0]["field"] == "q"
        for wrong in ("", "q=", "q=" + "x" * 501, "q=x&limit=0", "q=x&from=0", "q=x&regex=perhaps"):
            admin.get(f"{EXECUTIONS}/{one}/log/search?{wrong}").problem(422)


def test_an_expression_that_never_ends_is_refused_in_time_and_holds_up_nobody(
    site: Site, admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    with written(site, Scroll("a" * 60 + "!", "b")) as one:
        answers: list[Any] = []
        began = time.monotonic()
        asking = threading.Thread(
            target=lambda: answers.append(admin.get(f"{EXECUTIONS}/{one}/log/search?q={quote('(a+)+$')}&regex=true"))
        )
        asking.start()
        took = []
        while asking.is_alive():
            asked = time.monotonic()
            assert site.stranger().get("/health/live").status == 200
            took.append(time.monotonic() - asked)
        assert time.monotonic() - began < expressions.PAGE_WITHIN + 10
    assert "takes longer" in answers[0].problem(422)["detail"]
    assert len(took) > 10
    assert sorted(took)[len(took) // 2] < 1.0


@pytest.mark.parametrize("bound", ["SEARCHES_AT_ONCE", "OF_ONE_CALLER"])
def test_searches_are_bounded(site: Site, admin: Caller, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    monkeypatch.setattr(searching, bound, 0)
    with written(site, Scroll("a")) as one:
        for asked in ("q=a", "q=(&regex=true"):
            answer = admin.get(f"{EXECUTIONS}/{one}/log/search?{asked}")
            assert answer.problem(429)["hint"], "whatever is asked: nothing of it was looked at"
            assert answer.headers["retry-after"]


def test_a_search_whose_caller_leaves_makes_room_for_the_next(
    site: Site, admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expressions, "PAGE_WITHIN", 120.0)
    endless = f"log/search?q={quote('(a+)+$')}&regex=true"
    scroll = Scroll("a" * 60 + "!", "b")
    with written(site, scroll) as one:
        searching_for = [http.client.HTTPConnection("127.0.0.1", site.port) for _ in range(searching.OF_ONE_CALLER)]
        for connection in searching_for:
            connection.request("GET", f"{EXECUTIONS}/{one}/{endless}", headers=admin.headers)
        until = time.monotonic() + 60
        while len(scroll.asked) < searching.OF_ONE_CALLER:
            assert time.monotonic() < until, "they have all begun by now"
            time.sleep(0.01)
        admin.get(f"{EXECUTIONS}/{one}/log/search?q=b").problem(429)
        for connection in searching_for:
            connection.close()
        while (answer := admin.get(f"{EXECUTIONS}/{one}/log/search?q=b")).status == 429:
            assert time.monotonic() < until, "nobody waits for them any more"
    assert [hit["line"] for hit in answer.json["matches"]] == [2]


def test_an_expression_is_compiled_elsewhere_and_in_time(
    site: Site, admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[object] = []
    compile_it = re.compile
    monkeypatch.setattr(re, "compile", lambda *given: (compiled.append(given[0]), compile_it(*given))[1])
    heavy = "(?i)" + "[\x01-\uffff]" * 98 + "1"
    with written(site, Scroll("a", "x" * 98 + "1")) as one:
        for wanted in ("x{98}1", "("):
            admin.get(f"{EXECUTIONS}/{one}/log/search?q={quote(wanted)}&regex=true")
        monkeypatch.setattr(expressions, "COMPILED_WITHIN", 0.001)
        answer = admin.get(f"{EXECUTIONS}/{one}/log/search?q={quote(heavy)}&regex=true")
    assert "longer than 0.001 s to be compiled" in answer.problem(422)["detail"]
    assert not {"x{98}1", "(", heavy} & set(compiled)


def test_the_place_in_a_long_line_is_right_whatever_folding_makes_of_it(site: Site, admin: Caller) -> None:
    """Characters that become several without regard to case: the place is counted in the line as it is."""
    texts = ["\u00df" * 9_000 + "Needle" + "y" * 9_000, "\u0130" * 9_000 + "ne\u00dfle" + "y" * 9_000]
    with written(site, Scroll(*texts)) as one:
        (hit,) = search(admin, one, "nEEDLE", ignore_case="true")["matches"]
        assert hit["text"][9_000 - hit["offset"] :].startswith("Needle")
        (hit,) = search(admin, one, "NESSLE", ignore_case="true")["matches"]
        assert hit["line"] == 2
        assert hit["text"][9_000 - hit["offset"] :].startswith("ne\u00dfle")


# --- whatever is in it

WILD = [
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "data: forged\\n\\nevent: end",
    "\x85next \u2028 line \u2029 bidi \u202e evil \ufeff",
    "tab\tand \x7f and \x01",
]


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "another make"])
def test_wild_text_comes_through_as_data(site: Site, admin: Caller, ours: bool) -> None:
    with written(site, Scroll(*WILD, ours=ours)) as one:
        shown = admin.get(f"{EXECUTIONS}/{one}/log")
        assert shown.content_type == "application/json"
        assert shown.json["content"].split("\n") == WILD
        assert shown.json["to_line"] == len(WILD)
        assert admin.get(f"{EXECUTIONS}/{one}/log/download").body.decode().split("\n")[:-1] == WILD
        (hit,) = search(admin, one, "<img")["matches"]
        assert hit["text"] == WILD[1]


def test_a_line_of_ten_megabytes_is_a_line(site: Site, admin: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "PAGE_WITHIN", 60.0)  # how long it may take is not what this is about
    long = "x" * 10_000_000 + "needle" + "y" * 1_000
    with written(site, Scroll("before", long, "after", ours=False)) as one:
        shown = admin.get(f"{EXECUTIONS}/{one}/log").json
        assert (shown["to_line"], shown["content"]) == (2, f"before\n{long}")
        assert admin.get(f"{EXECUTIONS}/{one}/log?from=3").json["content"] == "after"
        assert len(admin.get(f"{EXECUTIONS}/{one}/log/download").body) == len(long) + len("before\n\nafter\n")
        (hit,) = search(admin, one, "needle")["matches"]
        assert (hit["line"], hit["cut"]) == (2, True)
        assert len(hit["text"]) == 4000
        assert hit["text"][10_000_000 - hit["offset"] :].startswith("needle")
        assert search(admin, one, "needle$|after", regex="true")["matches"][0]["line"] == 3


def test_numbers_are_the_executors_own(site: Site, admin: Caller) -> None:
    """One that counts other line breaks than ours: fewer, and more."""
    with Peer(answering(lines(1, 2, "one\ntwo\nstill two\n"))) as peer:
        one = taken_by(site, peer.address)
        shown = admin.get(f"{EXECUTIONS}/{one}/log").json
        assert (shown["to_line"], shown["content"]) == (2, "one\ntwo\nstill two\n")
        assert admin.get(f"{EXECUTIONS}/{one}/log?limit=1").json["content"] == "one"
    with Peer(answering(lines(1, 3, "one\rtwo\u2028three"))) as peer:
        shown = admin.get(f"{EXECUTIONS}/{taken_by(site, peer.address)}/log").json
        assert (shown["to_line"], shown["content"]) == (3, "one\rtwo\u2028three")


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "another make"])
def test_the_last_number_there_is_ends_a_log(site: Site, admin: Caller, ours: bool) -> None:
    last = 2**31 - 1
    with Peer(answering(lines(last, last, "x\n"))) as peer:
        one = taken_by(site, peer.address, ours=ours)
        found = search(admin, one, "x", **{"from": last})
        assert ([hit["line"] for hit in found["matches"]], found["to_line"], found["end"]) == ([last], last, True)
        assert len(peer.requests) == 1, "nobody is asked for a line beyond it"


def test_what_was_not_sent_yet_has_not_ended(site: Site, admin: Caller) -> None:
    """An executor of ours that has not got the trigger yet says that it has no such log."""
    with serving(Scroll()) as address:
        with Peer(answering(lines(1, 0, "There is no log here.", end=True))) as peer:
            one = site.execution(site.job())
            site.sent(one, peer.address)
            shown = admin.get(f"{EXECUTIONS}/{one}/log").json
        assert (shown["end"], shown["content"]) == (False, "")
        assert address
