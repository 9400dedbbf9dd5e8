"""The answer to a question for a log, read while it comes: it may be of any size.

Executors of another make answer with everything from a line to the end of the file, as one string inside of one JSON
object. Nothing here waits for the end of that: ``AnswerText`` finds the text of the log between the other members and
decodes it piece by piece, ``LongLog`` makes pages of it. What is kept is a page, the line that is not complete yet, and
what stands around the text, each with a bound.

Lines are counted by line feeds. The numbers an answer gives are its maker's own: as long as the text may still have
less lines than it says, none is given out that could turn out to be a part of the last one.
"""

import codecs
import json
import re
from dataclasses import dataclass

from orth.errors import InvalidMessage, Unavailable
from orth.wire.dialects import read_log_page, read_reply
from orth.wire.fields import as_text
from orth.wire.messages import LogPage

PAGE_CHARACTERS = 1024 * 1024
LINE_CHARACTERS = 16 * 1024 * 1024
"""Of a longer line the rest is left out."""
LEFT_OUT_LIMIT = 4 * LINE_CHARACTERS
"""Characters of a line that are read to be left out. A longer line would be read for as long as it comes."""
_AROUND_LIMIT = 256 * 1024
"""Characters beside the text of the log."""
AROUND_TOKENS = 10_000
"""Names, signs and values beside it. Each takes a step of this program, where a character takes none."""
_DEPTH_LIMIT = 64

_PAYLOAD_KEYS = ("content", "data")
_TEXT_KEY = "logContent"
_STRING = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_BETWEEN = re.compile(r'[^"{}\[\]:,]+')
_HIGH_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")


# --- the text ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Level:
    """An object or a list that is not closed yet, and the member of it that is being read."""

    is_object: bool
    key: object = None


class AnswerText:
    """Finds the text of a log in an answer that comes in pieces, however it is cut."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._coming = ""
        """What was not understood yet."""
        self._around: list[str] = []
        """What was, beside the text."""
        self._around_size = 0
        self._levels: list[_Level] = []
        self._last_string = '""'
        self._inside = False
        self._found = False
        self._repeated = False
        """Whether the text that is being read is a second one, under the other name of the payload."""

    def feed(self, data: bytes, *, last: bool = False) -> str:
        """The part of the text that is complete with ``data``."""
        self._coming += self._utf8.decode(data, last)
        texts: list[str] = []
        at = 0
        while at < len(self._coming):
            before = at
            if self._inside:
                at, text = self._text_at(at)
                if not self._repeated:
                    texts.append(text)
            else:
                at = self._token_at(at)
            if at == before or self._is_large():
                break
        self._coming = self._coming[at:]
        if self._is_large(0 if self._inside else len(self._coming)):
            raise InvalidMessage("The answer is large, and not because of its log.")
        return "".join(texts)

    def _is_large(self, coming: int = 0) -> bool:
        return self._around_size + coming > _AROUND_LIMIT or len(self._around) > AROUND_TOKENS

    @property
    def said(self) -> bytes:
        """The answer up to here without the text; with it, if it is over, a whole one."""
        return "".join((*self._around, self._coming)).encode()

    @property
    def last_line(self) -> int | None:
        """The number of the last line, if it was said before the text."""
        if not self._found:
            return None
        try:
            members = json.loads("".join(self._around) + "}" * len(self._levels))
            payload = next(members[key] for key in _PAYLOAD_KEYS if isinstance(members.get(key), dict))
            return read_log_page(payload).to_line if "toLineNum" in payload else None
        except (ValueError, StopIteration, AttributeError, RecursionError):
            return None

    def _text_at(self, at: int) -> tuple[int, str]:
        """The text from ``at`` on, as far as it can be decoded, and where it goes on."""
        match = _STRING.match(self._coming, at)
        assert match is not None, "it also fits nothing"
        end = match.end()
        closed = end < len(self._coming) and self._coming[end] == '"'
        if not closed:
            end = at + len(_decodable(self._coming[at:end]))
        text = _decoded(f'"{self._coming[at:end]}"')
        self._inside = not closed
        return end + closed, text

    def _token_at(self, at: int) -> int:
        """Read what begins at ``at``; where it ends, which is ``at`` if it has not come to its end."""
        sign = self._coming[at]
        if sign == '"':
            return self._string_at(at)
        if (between := _BETWEEN.match(self._coming, at)) is not None:
            return self._passed(at, between.end())
        level = self._levels[-1] if self._levels else None
        if sign in "{[":
            if len(self._levels) >= _DEPTH_LIMIT:
                raise InvalidMessage(f"The JSON is nested more than {_DEPTH_LIMIT} deep.")
            self._levels.append(_Level(sign == "{"))
        elif level is None:
            raise InvalidMessage(f"The answer is not JSON: {sign} at the outermost level.")
        elif sign in "}]":
            self._levels.pop()
        else:
            level.key = _decoded(self._last_string) if sign == ":" else None
        return self._passed(at, at + 1)

    def _string_at(self, at: int) -> int:
        if self._is_text():
            self._inside, self._repeated, self._found = True, self._found, True
            self._around.append('""')  # in its place
            return at + 1
        match = _STRING.match(self._coming, at + 1)
        assert match is not None, "it also fits nothing"
        if match.end() >= len(self._coming) or self._coming[match.end()] != '"':
            return at
        self._last_string = self._coming[at : match.end() + 1]
        return self._passed(at, match.end() + 1)

    def _is_text(self) -> bool:
        if len(self._levels) != 2 or not all(level.is_object for level in self._levels):
            return False
        return self._levels[0].key in _PAYLOAD_KEYS and self._levels[1].key == _TEXT_KEY

    def _passed(self, at: int, end: int) -> int:
        self._around.append(self._coming[at:end])
        self._around_size += end - at + 1  # so that very many small ones are bounded too
        return end


def _decoded(string: str) -> str:
    try:
        text = json.loads(string)
        assert isinstance(text, str), "it stands in quotation marks"
        return text
    except ValueError as error:
        raise InvalidMessage(f"The answer is not JSON: {error}.") from None


def _decodable(escaped: str) -> str:
    """The beginning of a JSON string that says the same whatever follows: without half an escape or half a pair."""
    start = _last_escape(escaped)
    if start is not None and len(escaped) - start < (6 if escaped[start + 1 : start + 2] == "u" else 2):
        escaped = escaped[:start]
        start = _last_escape(escaped)
    if start is not None and start == len(escaped) - 6 and _HIGH_HALF.match(escaped, start):
        escaped = escaped[:start]
    return escaped


def _last_escape(escaped: str) -> int | None:
    """Where the last escape begins: not with a backslash that is itself escaped."""
    last = escaped.rfind("\\")
    if last < 0:
        return None
    run = last + 1 - len(escaped[: last + 1].rstrip("\\"))
    return last if run % 2 else last - 1


# --- its lines --------------------------------------------------------------------------------------------------------


class LongLog:
    """Pages of a log out of one answer that comes in pieces. Give it all the bytes, then ``finish``."""

    def __init__(self, address: str, status: int, from_line: int) -> None:
        self._address = address
        self._status = status
        self._answer = AnswerText()
        self._from_line = self._next = from_line
        self._lines: list[str] = []
        self._size = 0
        self._open: list[str] = []
        self._open_size = 0
        self._left_out = 0
        self._claimed: int | None = None
        self._looked = False
        self.finished = False
        self._counted = False
        """Whether the last line was reached, as the answer numbers them."""

    def feed(self, data: bytes) -> LogPage | None:
        """A page, if one is full with ``data``."""
        self._add(as_text(self._answer.feed(data)))
        if self._size < PAGE_CHARACTERS:
            return None
        if not self._looked:
            self._looked, self._claimed = True, self._answer.last_line
        return self._full()

    def finish(self) -> LogPage:
        """What is left, with the number of the last line as the answer gave it."""
        self.finished = True
        self._add(as_text(self._answer.feed(b"", last=True)))
        reply = read_reply(self._status, self._answer.said)
        if not reply.ok:
            raise Unavailable.of("no_log_to_show", address=self._address, said=str(reply.msg), number=reply.code)
        payload = reply.payload if isinstance(reply.payload, dict) else {}
        if payload.get(_TEXT_KEY) == "":
            payload = {**payload, _TEXT_KEY: "\n".join((*self._lines, self._closed_line()))}
        page = read_log_page(payload, self._from_line)
        if self._next == self._from_line:
            return page
        if page.to_line < self._next - 1:
            raise InvalidMessage(f"The answer ends at line {page.to_line} and has more than that.")
        return page.model_copy(update={"from_line": self._next})

    def _add(self, text: str) -> None:
        """Take some more of the text, which is shorter than a line may be."""
        if self._counted:
            self._lengthen(text)
            return
        first, *others = text.split("\n")
        self._lengthen(first)
        if others:
            *whole, last = others
            self._lines.append(self._closed_line())
            self._lines += whole
            self._size += len(self._lines[-len(others)]) + sum(map(len, whole)) + len(others)
            self._lengthen(last)

    def _lengthen(self, text: str) -> None:
        kept = text[: LINE_CHARACTERS - self._open_size]
        self._left_out += len(text) - len(kept)
        if self._left_out > LEFT_OUT_LIMIT:
            raise InvalidMessage(f"A line of the log has more than {LEFT_OUT_LIMIT} characters.")
        if kept:
            self._open.append(kept)
            self._open_size += len(kept)

    def _closed_line(self) -> str:
        line = "".join(self._open)
        if self._left_out:
            line += f" … [{self._left_out} characters left out]"
        self._open, self._open_size, self._left_out = [], 0, 0
        return line

    def _full(self) -> LogPage | None:
        room = len(self._lines) if self._claimed is None else min(len(self._lines), self._claimed - self._next)
        if room <= 0:
            self._count_no_more()
            return None
        given, self._lines = self._lines[:room], self._lines[room:]
        first, self._next = self._next, self._next + room
        self._size = sum(len(line) + 1 for line in self._lines)
        return LogPage(from_line=first, to_line=self._next - 1, content="\n".join(given))

    def _count_no_more(self) -> None:
        """There are more lines than there should be: all that follows belongs to the last one."""
        self._counted = True
        rest = "\n".join((*self._lines, self._closed_line()))
        self._lines, self._size = [], 0
        self._lengthen(rest)
