"""The answer for a log, read while it comes: every way of cutting it gives the same as reading it whole."""

import json
import time
from collections import deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.errors import InvalidMessage, OrthError
from orth.wire import long_logs
from orth.wire.dialects import read_log_page, read_reply
from orth.wire.long_logs import AnswerText, LongLog
from orth.wire.messages import LogPage

ODD = '\n\r\t"\\/u0\0\x1f\x7f\x85é漢😀\U0010ffff\ufeff\u2028\ud83d\ude00{}[]:,'
texts = st.text(st.one_of(st.sampled_from(ODD), st.characters()), max_size=60)
members = st.dictionaries(
    st.sampled_from(["code", "msg", "other", "da\\ta"]), st.one_of(texts, st.integers(), st.lists(texts, max_size=2))
)


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """An answer with a log: any text, members in any order, escaped in either way, under either name or both."""
    text = draw(texts)
    inside = {"fromLineNum": 1, "toLineNum": text.count("\n") + 1, "logContent": text, "isEnd": False}
    inside |= draw(st.dictionaries(texts, texts, max_size=1))
    payload = dict(draw(st.permutations(list(inside.items()))))
    around: dict[str, Any] = {"code": 200, **draw(members), draw(st.sampled_from(["content", "data"])): payload}
    if draw(st.booleans()):
        around |= {"content": payload, "data": payload}
    body = json.dumps(
        dict(draw(st.permutations(list(around.items())))),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 1])),
    )
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + body.encode("utf-8", "surrogatepass")


@st.composite
def cuts(draw: st.DrawFn, body: bytes) -> list[bytes]:
    places = sorted(draw(st.lists(st.integers(0, len(body)), max_size=6)))
    return [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]


def page_of(pieces: list[bytes]) -> LogPage | None:
    log = LongLog("there", 200, 1)
    try:
        assert [page for piece in pieces if (page := log.feed(piece)) is not None] == []
        return log.finish()
    except OrthError:
        return None


def read_whole(body: bytes) -> LogPage | None:
    reply = read_reply(200, body)
    try:
        return read_log_page(reply.payload, 1) if reply.ok else None
    except InvalidMessage:
        return None


@given(answers(), st.data())
def test_it_says_what_the_whole_says_however_it_is_cut(body: bytes, data: st.DataObject) -> None:
    expected = read_whole(body)
    assert page_of(data.draw(cuts(body))) == expected
    assert page_of([bytes([byte]) for byte in body]) == expected


@given(st.binary(max_size=200), st.data())
def test_nonsense_is_nonsense_however_it_is_cut(noise: bytes, data: st.DataObject) -> None:
    for piece in (noise, b'{"code":200,"data":{"logContent":"' + noise, b'{"code":200,"data":{' + noise + b"}}"):
        assert page_of(data.draw(cuts(piece))) == read_whole(piece)


@given(st.lists(st.text(st.sampled_from("ab\r\u2028漢"), max_size=9), min_size=1, max_size=40), st.data())
def test_pages_together_are_the_log(lines: list[str], data: st.DataObject) -> None:
    """However small the pages are, whether the number of lines comes first or last, with a last line break or not."""
    text = "\n".join(lines) + data.draw(st.sampled_from(["", "\n"]))
    payload = {"toLineNum": 6 + len(lines), "logContent": text}
    body = json.dumps({"code": 200, "content": dict(data.draw(st.permutations(list(payload.items()))))}).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_logs, "PAGE_CHARACTERS", data.draw(st.integers(1, 30)))
        log = LongLog("there", 200, 7)
        pages = [page for piece in data.draw(cuts(body)) if (page := log.feed(piece)) is not None]
        pages.append(log.finish())
    assert [page.from_line for page in pages] == [7, *(page.to_line + 1 for page in pages[:-1])]
    assert pages[-1].to_line == 6 + len(lines)
    assert "\n".join(page.content for page in pages).rstrip("\n") == text.rstrip("\n")


def test_more_lines_than_there_are_belong_to_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_logs, "PAGE_CHARACTERS", 3)
    log = LongLog("there", 200, 1)
    body = json.dumps({"code": 200, "data": {"toLineNum": 2, "logContent": "one\ntwo\nstill\ntwo\n"}}).encode()
    pages = [page for at in range(len(body)) if (page := log.feed(body[at : at + 1])) is not None]
    assert [(page.from_line, page.to_line, page.content) for page in pages] == [(1, 1, "one")]
    last = log.finish()
    assert (last.to_line, last.content) == (2, "two\nstill\ntwo\n")
    log = LongLog("there", 200, 1)
    body = json.dumps({"code": 200, "data": {"logContent": "one\ntwo\nthree\n", "toLineNum": 2}}).encode()
    assert log.feed(body[:-20]) is not None
    log.feed(body[-20:])
    with pytest.raises(InvalidMessage, match="ends at line 2"):
        log.finish()


def test_of_a_line_without_end_the_beginning_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_logs, "LINE_CHARACTERS", 10)
    body = json.dumps({"code": 200, "data": {"toLineNum": 2, "logContent": "x" * 25 + "\nshort"}}).encode()
    log = LongLog("there", 200, 1)
    for at in range(0, len(body), 7):
        log.feed(body[at : at + 7])
    assert log.finish().content == "xxxxxxxxxx … [15 characters left out]\nshort"


@pytest.mark.parametrize(
    "body",
    ["x" * 300_000, '{"msg":"' + "x" * 300_000, '{"a":' * 70, "[1," * 300_000],
    ids=["text", "message", "depth", "list"],
)
def test_what_stands_around_the_text_is_bounded(body: str) -> None:
    answer = AnswerText()
    with pytest.raises(InvalidMessage):
        deque(answer.feed(body[at : at + 1000].encode()) for at in range(0, len(body), 1000))


@pytest.mark.parametrize("repeated", [b"{},", b'"a":1,', b"[1],", b"1 ,", b'"",'])
def test_many_small_members_cost_little(repeated: bytes) -> None:
    """The coordinator reads it in its event loop, and many may be read at once."""
    answer, began = AnswerText(), time.thread_time()
    pieces = (b'{"a":[', *[repeated * (131_072 // len(repeated))] * 8)
    with pytest.raises(InvalidMessage, match="not because of its log"):
        deque(map(answer.feed, pieces))
    assert time.thread_time() - began < 0.2


def test_a_line_without_end_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_logs, "LINE_CHARACTERS", 1_000)
    monkeypatch.setattr(long_logs, "LEFT_OUT_LIMIT", 4_000)
    log = LongLog("http://there", 200, 1)
    log.feed(b'{"code":200,"content":{"logContent":"' + b"x" * 4_900)
    with pytest.raises(InvalidMessage, match="more than 4000 characters"):
        log.feed(b"x" * 200)
