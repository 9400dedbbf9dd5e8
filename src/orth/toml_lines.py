"""On which line of a TOML file a key stands.

``tomllib`` does not say, and people who are told "orth.toml:12" need not search. This reads only as much of the syntax
as it takes to follow headers and keys; a key inside an inline table is found at the line of the table.
"""

import re
from collections.abc import Mapping

_WORD = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_NAME = rf"{_WORD}(?:\s*\.\s*{_WORD})*"
_HEADER = re.compile(rf"\s*\[{{1,2}}\s*({_NAME})\s*\]")
_KEY = re.compile(rf"\s*({_NAME})\s*=(.*)")


def key_lines(text: str) -> Mapping[str, int]:
    """The line of every table header and every key, by dotted name."""
    lines: dict[str, int] = {}
    table = ""
    closing = ""  # the quotes that end the multi-line string we are in
    for number, line in enumerate(text.split("\n"), start=1):
        if closing:
            closing = "" if closing in line else closing
        elif header := _HEADER.match(line):
            table = _dotted(header[1])
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            lines.setdefault(".".join(filter(None, (table, _dotted(key[1])))), number)
            closing = next((quotes for quotes in ('"""', "'''") if key[2].count(quotes) % 2), "")
    return lines


def line_of(name: str, lines: Mapping[str, int]) -> int | None:
    """The line of ``name``, or of the innermost table around it that has one."""
    while name and name not in lines:
        name = name.rpartition(".")[0]
    return lines.get(name)


def _dotted(name: str) -> str:
    return ".".join(part.strip("\"'") for part in re.findall(_WORD, name))
