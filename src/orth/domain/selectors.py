"""Label selectors: which executors of a group may run a job.

An executor announces labels, ``zone=eu`` or ``gpu=a100``; a job asks for some with a list of conditions, all of which
must hold::

    zone=eu,tier!=spot,gpu

``key=value`` wants that value, ``key!=value`` wants any other or none, ``key`` alone wants the label with any value. An
executor without labels satisfies only what the absence of a label satisfies.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from orth.errors import InvalidValue, quotable

SELECTOR_LIMIT = 255
_KEY = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?"
_VALUE = r"[A-Za-z0-9._/:+-]{0,63}"
_CONDITION = re.compile(rf"({_KEY})\s*(?:(=|!=)\s*({_VALUE}))?")


@dataclass(frozen=True, slots=True)
class Condition:
    """One part of a selector; without a value, any will do."""

    key: str
    value: str | None = None
    wanted: bool = True

    def holds(self, labels: Mapping[str, str]) -> bool:
        if self.value is None:
            return self.key in labels
        return (labels.get(self.key) == self.value) is self.wanted


@dataclass(frozen=True, slots=True)
class Selector:
    """Conditions that must all hold; none of them is satisfied by everybody."""

    conditions: tuple[Condition, ...] = ()

    def admits(self, labels: Mapping[str, str]) -> bool:
        return all(condition.holds(labels) for condition in self.conditions)


@lru_cache(maxsize=4096)  # every execution of a job asks for the same one
def parse_selector(text: str) -> Selector:
    """The selector a job wrote; ``InvalidValue`` says which part cannot be read."""
    if len(text) > SELECTOR_LIMIT:
        raise InvalidValue.of("selector_too_long", limit=SELECTOR_LIMIT, field="label_selector")
    if not text.strip():
        return Selector()
    return Selector(tuple(_condition(part.strip()) for part in text.split(",")))


def _condition(part: str) -> Condition:
    match = _CONDITION.fullmatch(part)
    if match is None:
        if not part:
            raise InvalidValue.of("selector_gap", field="label_selector")
        raise InvalidValue.of("selector_condition", said=quotable(part, SELECTOR_LIMIT), field="label_selector")
    key, operator, value = match.groups()
    return Condition(key, value, operator != "!=")
