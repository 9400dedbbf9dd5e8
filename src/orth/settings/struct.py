"""The settings a process runs with: the sections, and where each value came from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import PrivateAttr

from orth.errors import Invalid
from orth.settings.checking import Check, check_sections
from orth.settings.names import FIELDS, nearest
from orth.settings.sections import Sections
from orth.settings.surprises import Surprise

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Source:
    """How settings were read; settings that say the same are equal, wherever they come from."""

    read: "Callable[[], Settings] | None" = field(default=None, compare=False)


class Settings(Sections):
    """All settings, frozen. Made by ``load_settings``; ``Settings()`` is the defaults."""

    _origins: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _notes: tuple[Surprise, ...] = PrivateAttr(default=())
    _file: Path | None = PrivateAttr(default=None)
    _source: Source = PrivateAttr(default=Source())

    @classmethod
    def from_layers(
        cls,
        sections: Mapping[str, object],
        *,
        origins: Mapping[str, str],
        notes: tuple[Surprise, ...],
        file: Path | None,
    ) -> "Settings":
        """Settings that remember how they came about."""
        settings = cls.model_validate(sections)
        settings._origins = dict(origins)
        settings._notes = notes
        settings._file = file
        return settings

    def origin(self, key: str) -> str:
        """Where the value of ``key`` was said: ``default``, ``orth.toml:12``, ``environment …`` or ``option …``."""
        if key not in FIELDS:
            guess = nearest(key)
            raise Invalid(f"There is no setting {key!r}.", hint=f"Did you mean {guess}?" if guess else None)
        return self._origins.get(key, DEFAULT)

    @property
    def file(self) -> Path | None:
        """The settings file that was read."""
        return self._file

    def read_again(self) -> "Settings":
        """What the same layers say now; ``BadSettings`` when they cannot be used. Settings made otherwise stay."""
        return self if self._source.read is None else self._source.read()

    def remember(self, again: "Callable[[], Settings]") -> "Settings":
        """These settings, which know how they were read."""
        self._source = Source(again)
        return self

    def check(self) -> Check:
        """What the values are to each other: problems, and warnings."""
        return check_sections(self)

    @property
    def warnings(self) -> tuple[Surprise, ...]:
        """What should be told at the start: names that have newer ones, and values that work but surprise."""
        return (*self._notes, *self.check().warnings)
