"""Settings from their layers: default < file < environment < option.

Every problem of a load is found before any is reported, and then nothing is applied: people mend a file once, not once
per mistake.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import SecretStr, ValidationError
from pydantic_core import ErrorDetails

from orth.errors import BadSettings
from orth.settings.checking import check_sections
from orth.settings.layers import Given, find_file, read_environment, read_file, read_options
from orth.settings.names import (
    FIELDS,
    PREFIX,
    SEED_NAMES,
    kind_of,
    nearest,
    secret_file_target,
    variable_of,
    without_section_alias,
)
from orth.settings.sections import Sections
from orth.settings.struct import Settings
from orth.settings.surprises import Surprise
from orth.settings.values import hide_passwords

_LONGEST_SHOWN = 80


def load_settings(
    options: Mapping[str, object] | None = None,
    *,
    environ: Mapping[str, str],
    config: Path | None = None,
    cwd: Path,
) -> Settings:
    """Read all layers, or raise ``BadSettings`` with everything that is wrong.

    ``options`` are dotted keys with values, None meaning "not given". Relative paths of files to read start at ``cwd``.
    """
    load = _Load(cwd)
    file = find_file(config, environ, cwd)
    if file is not None:
        try:
            load.put_on_top(read_file(file, cwd))
        except BadSettings as unreadable:
            load.problems += unreadable.problems
    load.put_on_top(read_environment(environ))
    load.put_on_top(read_options(options or {}))
    again = partial(load_settings, options, environ=environ, config=config, cwd=cwd)
    return load.settings(file).remember(again)


@dataclass(frozen=True, slots=True)
class _Entry:
    value: object
    origin: str


class _Load:
    """One load under way: what holds so far, and everything found wrong."""

    def __init__(self, cwd: Path) -> None:
        self.problems: list[str] = []
        self._cwd = cwd
        self._notes: list[Surprise] = []
        self._entries: dict[str, _Entry] = {}
        self._unreadable: set[str] = set()

    def put_on_top(self, layer: Iterable[Given]) -> None:
        said: dict[str, _Entry] = {}
        for given in layer:
            key = self._key(given)
            entry = self._entry(given, key) if key else None
            if key is None or entry is None:
                continue
            if key in said:
                self.problems.append(f"{key} is set twice: {said[key].origin} and {entry.origin}")
            said[key] = entry
        self._entries |= said

    def settings(self, file: Path | None) -> Settings:
        self._find_misfits()
        good = {key: entry for key, entry in self._entries.items() if key not in self._unreadable}
        sections = _sections(good)
        self.problems += check_sections(Sections.model_validate(sections), unreadable=self._unreadable).problems
        if self.problems:
            raise BadSettings(self.problems)
        return Settings.from_layers(
            sections, origins={key: entry.origin for key, entry in good.items()}, notes=tuple(self._notes), file=file
        )

    def _key(self, given: Given) -> str | None:
        """The key that ``given`` sets, or None if it sets nothing."""
        name = without_section_alias(given.name)
        if name in SEED_NAMES:
            self._note_seed_name(given, SEED_NAMES[name])
            return SEED_NAMES[name]
        key = secret_file_target(name) or name
        if key in FIELDS:
            return key
        self.problems.append(_unknown(given, name))
        return None

    def _note_seed_name(self, given: Given, key: str) -> None:
        """Once for each name, and once for all that stand in one table."""
        table, _, member = given.spelling.replace("__", ".").partition(".")
        note = Surprise.of("other_name", spelling=given.spelling, place=given.place, key=key)
        if member:
            note = Surprise.of("other_table", table=table, section=key.partition(".")[0])
        if note not in self._notes:
            self._notes.append(note)

    def _entry(self, given: Given, key: str) -> _Entry | None:
        if given.value is None:
            return None
        name = without_section_alias(given.name)
        if secret_file_target(name):
            return self._from_secret_file(given, key)
        return _Entry(given.value, given.origin)

    def _from_secret_file(self, given: Given, key: str) -> _Entry | None:
        try:
            secret = (self._cwd / str(given.value)).read_text("utf-8").rstrip("\r\n")
            trouble = None if secret else "is empty"
        except OSError as error:
            trouble = f"cannot be read: {error.strerror}"
        except ValueError:
            trouble = "is not text"
        if trouble is None:
            return _Entry(secret, given.origin)
        self.problems.append(f"{given.spelling} in {given.place} names the file {given.value}, which {trouble}")
        self._unreadable.add(key)
        return None

    def _find_misfits(self) -> None:
        """Report the values that have not their kind."""
        try:
            Sections.model_validate(_sections(self._entries))
        except ValidationError as invalid:
            errors = {".".join(map(str, error["loc"][:2])): error for error in invalid.errors()}
            self.problems += [_misfit(key, error, self._entries[key]) for key, error in errors.items()]
            self._unreadable |= set(errors)


def _sections(entries: Mapping[str, _Entry]) -> dict[str, dict[str, object]]:
    sections: dict[str, dict[str, object]] = {}
    for key, entry in entries.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, {})[name] = entry.value
    return sections


def _unknown(given: Given, name: str) -> str:
    if name in Sections.model_fields:
        return f"{name} in {given.place} is a section: write [{name}] and its settings below"
    guess = nearest(name)
    if guess and guess in FIELDS and given.spelling.startswith(PREFIX):
        guess = variable_of(guess)
    question = f"; did you mean {guess}?" if guess else ""
    return f"unknown setting {given.spelling} in {given.place}{question}"


def _misfit(key: str, error: ErrorDetails, entry: _Entry) -> str:
    reason = error["msg"].removeprefix("Value error, ").replace("Input should", "should", 1)
    return f"{key}{_shown(key, entry.value)} ({entry.origin}): {reason}"


def _shown(key: str, value: object) -> str:
    if kind_of(key).name == "secret" or isinstance(value, SecretStr):
        return ""
    text = hide_passwords(repr(value))
    return f" = {text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + '…'}"
