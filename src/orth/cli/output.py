"""How a command shows what it found: ``-o table|json|yaml|name``.

Standard output carries data only. A table is for eyes and may change; JSON and YAML carry the API's own members.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])
FORMS = ("table", "json", "yaml", "name")
_GAP = "  "


def output_option(command: _F) -> _F:
    """``-o``, as ``output``."""
    return click.option(
        "-o", "--output", type=click.Choice(FORMS), default="table", show_default=True, help="Form of the output."
    )(command)


def show_list(items: Sequence[Mapping[str, Any]], output: str, columns: Mapping[str, Callable[[Any], object]]) -> None:
    """A list of things: in a table with these columns, otherwise whole."""
    if output == "table":
        rows = [[_cell(read(item)) for read in columns.values()] for item in items]
        click.echo(table([name.upper() for name in columns], rows))
    else:
        _show(list(items), output)


def show_one(item: Mapping[str, Any], output: str, lines: Callable[[Any], Iterable[tuple[str, str]]]) -> None:
    """One thing: as titled lines, otherwise whole."""
    if output == "table":
        click.echo("\n".join(titled(lines(item))))
    else:
        _show(item, output)


def titled(lines: Iterable[tuple[str, str]]) -> list[str]:
    """``Title  text`` with the texts below each other; a text of several lines stays in its column."""
    listed = [(title, str(text).splitlines() or ["-"]) for title, text in lines]
    width = max((len(title) for title, _ in listed), default=0)
    shown: list[str] = []
    for title, texts in listed:
        shown += [f"{title if i == 0 else '':<{width}}{_GAP}{_visible(text)}".rstrip() for i, text in enumerate(texts)]
    return shown


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(_GAP.join(map(str.ljust, row, widths)).rstrip() for row in (head, *rows))


def as_yaml(value: object, indent: int = 0) -> str:
    """JSON-like data as YAML: blocks for what has parts, JSON's own spelling for what has none."""
    pad = " " * indent
    if isinstance(value, Mapping) and value:
        return "\n".join(f"{pad}{_scalar(key)}:{_yaml_part(part, indent)}" for key, part in value.items())
    if isinstance(value, list | tuple) and value:
        return "\n".join(f"{pad}-{_yaml_item(part, indent)}" for part in value)
    return f"{pad}{_scalar(value)}"


def _yaml_part(part: object, indent: int) -> str:
    if isinstance(part, Mapping | list | tuple) and part:
        return f"\n{as_yaml(part, indent + 2)}"
    return f" {_scalar(part)}"


def _yaml_item(part: object, indent: int) -> str:
    if isinstance(part, Mapping | list | tuple) and part:
        return f" {as_yaml(part, indent + 2).lstrip()}"
    return f" {_scalar(part)}"


def _scalar(value: object) -> str:
    if isinstance(value, str) and value.replace("_", "").isalpha() and value.isascii() and value.lower() not in _WORDS:
        return value
    return "".join(c if c.isprintable() else _escaped(c) for c in json.dumps(value, ensure_ascii=False))


def _escaped(char: str) -> str:
    """As YAML spells a character that cannot be seen; JSON's pairs of halves are two characters to it."""
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
"""Words a YAML reader takes for something else than text."""


def _show(value: Any, output: str) -> None:
    if output == "json":
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    elif output == "yaml":
        click.echo(as_yaml(value))
    else:
        for item in value if isinstance(value, list) else [value]:
            click.echo(item["id"])


def _cell(value: object) -> str:
    return "-" if value is None or value == "" else _visible(str(value))


def _visible(text: str) -> str:
    """``text`` without anything a terminal would obey."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)
