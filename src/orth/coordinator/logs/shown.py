"""A line of a log as those who read it see it: without the colours and links of terminals, and behind its time.

The console draws lines by the same rules (``console/src/parts/log/ansi.ts`` and ``lines.ts``), so what one sees can be
searched.
"""

import re
from collections.abc import Sequence

_ESCAPE = "\x1b"
_HARMLESS = re.compile(r"\x1b(?:\[[0-9;:]*m|\]8;[^;\x07\x1b\n]*;[^\x07\x1b\n]*(?:\x07|\x1b\\))")
"""A style, or the beginning or the end of a link, of which only the text is shown."""
_CHANGED = re.compile(
    _HARMLESS.pattern + r"|[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)
"""The same, and what is spelled out: control characters, and those that turn or hide text."""

STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)(?: |$)")
"""The time at the beginning of a line, which is shown apart from its text."""


def shown_texts(texts: Sequence[str], *, spelled: bool = False) -> Sequence[str]:
    """The lines of a page as they are shown. What is spelled out there is so only if ``spelled``: to look for that
    takes long, and few search for it.
    """
    if spelled:
        return [text if text.isprintable() else _CHANGED.sub(_in_its_place, text) for text in texts]
    together = "\n".join(texts)  # one look at all: most pages have no colours
    if _ESCAPE not in together:
        return texts
    shown = _HARMLESS.sub("", together).split("\n")
    return shown if len(shown) == len(texts) else [_HARMLESS.sub("", text) for text in texts]


def place_in(text: str, place: int, *, spelled: bool = False) -> int:
    """Which character of a line is at ``place`` of what is shown of it."""
    for found in (_CHANGED if spelled else _HARMLESS).finditer(text):
        change = len(found[0]) - len(_in_its_place(found))
        if found.start() + max(0, -change) > place:
            break
        place += change
    return place


def body_of(shown: str) -> str:
    """What a line says behind its time."""
    stamp = STAMP.match(shown)
    return shown[stamp.end() :] if stamp else shown


def _in_its_place(found: re.Match[str]) -> str:
    code = ord(found[0][0])
    if len(found[0]) > 1:
        return ""
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
