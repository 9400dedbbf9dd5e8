"""What a script says of itself before its code: what it needs, and which parameters it takes. Pure.

The form is that of PEP 723, a comment of its own with TOML inside, behind the mark that comments of the language have::

    # /// script
    # dependencies = ["requests>=2"]
    # [tool.orth.params.day]
    # type = "string"
    # ///

It stands before the first line of code: further below it may belong to a file that the script writes. What is not
understood is refused when the code is saved, so that nobody relies on a header that nobody reads. Other tools may say
what they like in tables of their own.
"""

import math
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from orth.domain.jobs import GlueType
from orth.errors import Invalid, quotable
from orth.toml_lines import key_lines, line_of

HEADER_LIMIT = 8192
"""Characters; a header is read whenever code is shown."""
_SLASHES = frozenset({GlueType.GLUE_NODEJS, GlueType.GLUE_PHP, GlueType.GLUE_GROOVY})
_PYTHONS = frozenset({GlueType.GLUE, GlueType.GLUE_PYTHON, GlueType.GLUE_PYTHON2})
_FIELD = "glue_source"
_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)$")
_QUOTED = 60

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_OF_ALL = ("type", "default", "description", "required")
_MORE = {
    "string": ("enum",),
    "integer": ("enum", "minimum", "maximum"),
    "number": ("enum", "minimum", "maximum"),
    "boolean": (),
}
"""By type, what else may be said of a parameter."""
_EXACT = 2**53
"""Programs that read JSON know whole numbers below this one."""

_VERSION = r"(?:===|~=|==|!=|<=|>=|<|>)\s*[\w.*+!-]+"
_VERSIONS = rf"{_VERSION}(?:\s*,\s*{_VERSION})*"
_REQUIREMENT = re.compile(
    r"([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)"
    r"(?:\s*\[[\w.,\s-]*\])?"
    rf"\s*(?:\(\s*{_VERSIONS}\s*\)|{_VERSIONS}|@\s*\S+)?"
    r"\s*(?:;.+)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Header:
    """What a script says of itself; nothing where it has no header, or one that cannot be understood."""

    requirements: tuple[str, ...] = ()
    requires_python: str | None = None
    params_schema: Mapping[str, Any] | None = None
    """JSON Schema of an object, as handlers announce it."""
    trouble: Invalid | None = None


def header_of(glue_type: GlueType, source: str) -> Header:
    """The header of this code, whatever it is."""
    try:
        return _read(glue_type, source)
    except Invalid as trouble:
        return Header(trouble=trouble)


def check_header(glue_type: GlueType, source: str) -> None:
    """Refuse code whose header cannot be understood."""
    if (trouble := header_of(glue_type, source).trouble) is not None:
        raise trouble


def required_name(requirement: str) -> str | None:
    """The distribution that a requirement of Python names; None if it is none."""
    found = _REQUIREMENT.fullmatch(requirement)
    return found and found[1]


@dataclass(frozen=True)
class _Block:
    """The TOML of a header, and where it stands."""

    begin: int
    mark: str
    text: str

    @cached_property
    def tables(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text)
        except (ValueError, RecursionError) as error:  # also of numbers with very many digits
            place = _PLACE.search(str(error))
            line, column = (int(place[1]), int(place[2])) if place else (self.text.count("\n"), 1)
            line, column = self.begin + line, column + len(self.mark) + 1
            raise Invalid.of("header_not_toml", line=line, column=column, field=_FIELD) from None

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return key_lines(self.text)

    def line(self, *path: str) -> int:
        return self.begin + (line_of(".".join(path), self._places) or 0)

    def table(self, *path: str, known: Collection[str] | None = None) -> dict[str, Any]:
        """The table of that name, which has no other keys than those known; empty if there is none."""
        found: Any = self.tables
        for at, part in enumerate(path, start=1):
            found = found.get(part, {})
            if not isinstance(found, dict):
                raise self.unlike(*path[:at], example=f"[{'.'.join(path)}]")
        for key in found:
            if known is not None and key not in known:
                raise self.unknown(*path, key, known=known)
        return found  # type: ignore[no-any-return]  # tomllib gives Any

    def unknown(self, *path: str, known: Collection[str]) -> Invalid:
        line, listed = self.line(*path), ", ".join(sorted(known))
        return Invalid.of("header_key", key=_quoted(path), line=line, known=listed, field=_FIELD)

    def unlike(self, *path: str, example: str) -> Invalid:
        return Invalid.of("header_form", key=_quoted(path), line=self.line(*path), example=example, field=_FIELD)


def _quoted(path: Sequence[str]) -> str:
    return quotable(".".join(path), _QUOTED)


def _read(glue_type: GlueType, source: str) -> Header:
    block = _block(source.removeprefix("\ufeff"), "//" if glue_type in _SLASHES else "#")
    if block is None:
        return Header()
    said = block.table(known=("dependencies", "requires-python", "tool"))
    block.table("tool")
    block.table("tool", "orth", known=("params",))
    python = said.get("requires-python")
    if python is not None and not _is_line(python):
        raise block.unlike("requires-python", example='">=3.11"')
    return Header(_requirements(block, said.get("dependencies", []), glue_type), python, _schema(block))


def _block(source: str, mark: str) -> _Block | None:
    """The comment that is the header, among those before the code."""
    found = None
    lines = [line.rstrip() for line in source.split("\n")]
    at = 0
    while at < len(lines) and (not lines[at] or lines[at].startswith((mark, "#!", "<?php"))):
        at += 1
        if lines[at - 1] != f"{mark} /// script":
            continue
        if found is not None:
            raise Invalid.of("header_twice", line=at, field=_FIELD)
        found, at = _block_from(lines, at, mark)
    return found


def _block_from(lines: Sequence[str], begin: int, mark: str) -> tuple[_Block, int]:
    """The block whose first line has this number, and the number of its last line: of several that could be the last,
    the last one is.
    """
    end, at = 0, begin
    while at < len(lines) and (lines[at] == mark or lines[at].startswith(f"{mark} ")):
        at += 1
        if lines[at - 1] == f"{mark} ///":
            end = at
    if not end:
        raise Invalid.of("header_unended", line=begin, end=f"{mark} ///", field=_FIELD)
    text = "".join(line[len(mark) + 1 :] + "\n" for line in lines[begin : end - 1])
    if len(text) > HEADER_LIMIT:
        raise Invalid.of("header_too_large", line=begin, limit=HEADER_LIMIT, field=_FIELD)
    return _Block(begin, mark, text), end


def _is_line(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _is_text(value: object) -> bool:
    """Whether people are shown what is written: nothing in it turns or hides the rest."""
    return isinstance(value, str) and all(line.isprintable() for line in value.split("\n"))


def _requirements(block: _Block, said: object, glue_type: GlueType) -> tuple[str, ...]:
    """Of other languages they are shown only, so they may look as it is usual there."""
    if not isinstance(said, list) or not all(map(_is_line, said)):
        raise block.unlike("dependencies", example='["requests>=2"]')
    for one in said:
        if glue_type in _PYTHONS and required_name(one.strip()) is None:
            line = block.line("dependencies")
            raise Invalid.of("header_requirement", text=quotable(one, _QUOTED), line=line, field=_FIELD)
    return tuple(one.strip() for one in said)


def _schema(block: _Block) -> Mapping[str, Any] | None:
    declared = block.table("tool", "orth", "params")
    properties = {name: _parameter(block, name) for name in declared}
    if not properties:
        return None
    required = [name for name in declared if declared[name].get("required")]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _parameter(block: _Block, name: str) -> dict[str, Any]:
    """What JSON Schema says of one parameter."""
    path = ("tool", "orth", "params", name)
    line = block.line(*path)
    if not _NAME.fullmatch(name):
        raise Invalid.of("header_param_name", name=quotable(name, _QUOTED), line=line, field=_FIELD)
    said = block.table(*path)
    kind = said.get("type")
    if not isinstance(kind, str) or kind not in _MORE:
        raise Invalid.of("header_param_type", name=name, line=line, types=", ".join(_MORE), field=_FIELD)
    block.table(*path, known=(*_OF_ALL, *_MORE[kind]))
    if not isinstance(said.get("required", False), bool):
        raise block.unlike(*path, "required", example="true")
    if not _is_text(said.get("description", "")):
        raise block.unlike(*path, "description", example='"…"')
    _check_values(block, path, kind)
    return {key: value for key, value in said.items() if key != "required"}


def _check_values(block: _Block, path: tuple[str, ...], kind: str) -> None:
    """Refuse what is of another type than the parameter, and what contradicts the rest."""
    said, name = block.table(*path), path[-1]
    choices = said.get("enum")
    strange = isinstance(choices, list) and any(isinstance(one, str) and not _is_text(one) for one in choices)
    if choices is not None and (not isinstance(choices, list) or not choices or strange):
        raise block.unlike(*path, "enum", example="[1, 2]" if kind == "integer" else '["a", "b"]')
    values = {key: [said[key]] for key in ("default", "minimum", "maximum") if key in said} | {"enum": choices or []}
    for key, some in values.items():
        if not all(_is_of(kind, one) for one in some):
            line = block.line(*path, key)
            raise Invalid.of("header_param_value", key=key, name=name, line=line, type=kind, field=_FIELD)
    lowest, highest = said.get("minimum", -math.inf), said.get("maximum", math.inf)
    default = values.get("default", [])
    numbers = [one for one in (*values["enum"], *default) if kind in ("integer", "number")]
    fits = lowest <= highest and all(lowest <= one <= highest for one in numbers)
    chosen = choices is None or all(one in choices for one in default)
    if not (fits and chosen) or (said.get("required") and default):
        raise Invalid.of("header_param_contradiction", name=name, line=block.line(*path), field=_FIELD)


def _is_of(kind: str, value: object) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, int):
        return kind in ("integer", "number") and -_EXACT < value < _EXACT
    if isinstance(value, float):
        return kind == "number" and math.isfinite(value)
    return kind == "string" and isinstance(value, str)
