"""The form of an archived log: a gzip file whose members can be skipped.

Each member holds some lines and says in its head which, and how long it is itself; so a line is found by hopping from
head to head, and only its member is unpacked. Any gzip program reads the whole as text. Line numbers may jump between
two members: what was between them was not kept.
"""

import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from orth.coordinator.logs.pages import Lines, lines_of, no_lines
from orth.errors import Unreadable

_HEAD = struct.Struct("<4sIBBH2sHQQQ")
"""The fixed head of gzip, and one extra field: the first line, the last one, and the length of the member."""
_MAGIC = b"\x1f\x8b\x08\x04"
_FIELD = b"OL"
_TAIL = struct.Struct("<II")
_UNKNOWN_SYSTEM = 255
_LONGEST = 64 * 1024 * 1024
"""Bytes one member may unpack to: four times what an executor may send at once."""


@dataclass(frozen=True, slots=True)
class Block:
    """Where some lines are."""

    offset: int
    length: int
    first: int
    last: int


def packed(lines: Lines) -> bytes:
    """Some lines as a member."""
    text = (lines.content + "\n").encode("utf-8", "replace")
    deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(text) + deflate.flush()
    tail = _TAIL.pack(zlib.crc32(text), len(text) & 0xFFFFFFFF)
    length = _HEAD.size + len(body) + len(tail)
    head = _HEAD.pack(_MAGIC, 0, 0, _UNKNOWN_SYSTEM, 28, _FIELD, 24, lines.first, lines.last, length)
    return head + body + tail


def blocks(file: BinaryIO) -> Iterator[Block]:
    """The members of a file, in order."""
    offset = 0
    while True:
        file.seek(offset)
        head = file.read(_HEAD.size)
        if not head:
            return
        if len(head) < _HEAD.size:
            raise _damaged()
        magic, _time, _flags, _system, _extra, field, _size, first, last, length = _HEAD.unpack(head)
        if magic != _MAGIC or field != _FIELD or length < _HEAD.size + _TAIL.size:
            raise _damaged()
        yield Block(offset, length, first, last)
        offset += length


def unpacked(file: BinaryIO, block: Block) -> Lines:
    """The lines of a member."""
    file.seek(block.offset)
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        text = inflate.decompress(file.read(block.length), _LONGEST)
    except zlib.error:
        raise _damaged() from None
    if not inflate.eof:
        raise _damaged()
    return lines_of(block.first, block.last, text.decode("utf-8", "replace"))


def page_from(file: BinaryIO, line: int) -> tuple[Lines, bool]:
    """The kept lines from ``line`` on, up to the end of their member, and whether none follow."""
    found: Block | None = None
    for block in blocks(file):
        if found is not None:
            return unpacked(file, found).since(line), False
        if block.last >= line:
            found = block
    if found is None:
        return no_lines(line), True
    return unpacked(file, found).since(line), True


def last_lines(file: BinaryIO, count: int) -> Lines:
    """The last ``count`` lines; fewer when numbers jump before that."""
    kept = list(blocks(file))
    taken: list[str] = []
    first = kept[-1].last + 1 if kept else 1
    for block in reversed(kept):
        if len(taken) >= count or block.last != first - 1:
            break
        lines = unpacked(file, block)
        taken[:0] = lines.texts
        first = block.first
    excess = max(0, len(taken) - count)
    last = kept[-1].last if kept else 0
    return Lines(first + excess, last, taken[excess:])


def opened(content: bytes) -> BinaryIO:
    return io.BytesIO(content)


def _damaged() -> Unreadable:
    return Unreadable.of("log_damaged")
