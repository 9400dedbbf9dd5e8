"""What each layer says, before anybody knows whether it makes sense.

A layer is a list of ``Given``: a name, a value, and where it was written. The file, the environment and the options are
each turned into such a list; ``loading`` puts them on top of each other.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from orth.errors import BadSettings
from orth.settings.names import FIELDS, PREFIX, SECTION_ALIASES, SEED_NAMES, option_of
from orth.settings.sections import Sections
from orth.toml_lines import key_lines, line_of

FILE_NAME = "orth.toml"
FILE_VARIABLE = "ORTH_CONFIG"
_NESTED = "DnsConfiguration"


@dataclass(frozen=True, slots=True)
class Given:
    """One setting as somebody wrote it. ``value`` is None when the name is there but says nothing."""

    name: str  # dotted, as settings are named
    spelling: str  # as it was written
    value: object
    origin: str
    place: str


def find_file(config: Path | None, environ: Mapping[str, str], cwd: Path) -> Path | None:
    """The settings file: the one asked for, the one the environment names, or orth.toml if it is there."""
    named = config or environ.get(FILE_VARIABLE)
    if named:
        return cwd / named
    usual = cwd / FILE_NAME
    return usual if usual.is_file() else None


def read_file(path: Path, cwd: Path) -> list[Given]:
    """Everything the file says."""
    shown = str(path.relative_to(cwd) if path.is_relative_to(cwd) else path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        tables = tomllib.loads(text)
    except OSError as error:
        raise BadSettings([f"the settings file {shown} cannot be read: {error.strerror}"]) from None
    except ValueError as error:  # no TOML, no UTF-8, or a number with thousands of digits
        raise BadSettings([f"the settings file {shown} is not TOML: {error}"]) from None
    except RecursionError:
        raise BadSettings([f"the settings file {shown} is nested too deeply"]) from None
    lines = key_lines(text.replace("\r\n", "\n"))
    return [_in_file(name, value, shown, line_of(name, lines)) for name, value in _flattened(tables)]


def _in_file(name: str, value: object, file: str, line: int | None) -> Given:
    place = f"{file}:{line}" if line else file
    return Given(name, name, value, origin=place, place=place)


def _flattened(tables: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Dotted names with their values; below a section everything is a value, whatever its form."""
    for section, table in tables.items():
        if not isinstance(table, dict):
            yield section, table
        elif section == _NESTED:
            yield from _nested(section, table)
        elif table or section in Sections.model_fields or section in SECTION_ALIASES:
            yield from ((f"{section}.{key}", value) for key, value in table.items())
        else:
            yield section, table


def _nested(path: str, table: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _nested(f"{path}.{key}", value)
        else:
            yield f"{path}.{key}", value


def read_environment(environ: Mapping[str, str]) -> list[Given]:
    """Every variable that is a setting, or is spelt like one. An empty variable says nothing."""
    return [
        Given(name, variable, value or None, origin=f"environment {variable}", place="the environment")
        for variable, value in environ.items()
        if (name := _name_of_variable(variable))
    ]


def _name_of_variable(variable: str) -> str | None:
    if variable.startswith(PREFIX) and "__" in variable:
        return variable.removeprefix(PREFIX).lower().replace("__", ".", 1)
    dotted = variable.replace("__", ".")
    return dotted if dotted in SEED_NAMES else None


def read_options(options: Mapping[str, object]) -> list[Given]:
    """What the command line, or a program, asks for. An option that was not given is None."""
    return [
        Given(key, key, value, origin=f"option {_flag(key)}", place="the options") for key, value in options.items()
    ]


def _flag(key: str) -> str:
    return (option_of(key) if key in FIELDS else None) or key
