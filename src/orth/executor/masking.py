"""Hiding the secrets of an execution in what it writes: its log, its progress and its result.

A secret is looked for as it is, line by line if it has several, and in the spellings that Python, JSON and URLs give
it. Whoever encodes it in another way, or takes it to pieces, has written something that nobody can recognise: this is a
net under mistakes, no wall against the job itself, which must know its secrets.
"""

import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

SHORTEST_HIDDEN = 4
"""Characters a text must have to be hidden: shorter ones are part of ordinary words."""
HIDDEN = "***"


class Mask:
    """Replaces these values wherever they stand in a text."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        forms = {form for value in values for form in _forms(value) if len(form) >= SHORTEST_HIDDEN}
        self._forms = sorted(forms, key=len, reverse=True)  # the whole before its lines
        self._pattern = re.compile("|".join(map(re.escape, self._forms))) if forms else None
        self.longest = len(self._forms[0]) if forms else 0
        """Characters of the longest form."""

    def hide(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(HIDDEN, text)

    def hide_cut(self, text: str) -> str:
        """The same for a text that was cut off: what could be the beginning of a secret at its end is hidden too."""
        begun = self._begun(text)
        if begun is None or self._pattern is None:
            return self.hide(text)
        for found in self._pattern.finditer(text):
            if found.start() < begun < found.end():
                begun = found.start()
        return self.hide(text[:begun]) + HIDDEN

    def _begun(self, text: str) -> int | None:
        """Where the longest end of ``text`` begins that a secret begins with, or is."""
        for size in range(min(self.longest, len(text)), 0, -1):
            if any(form.startswith(text[-size:]) for form in self._forms):
                return len(text) - size
        return None


NOTHING_HIDDEN = Mask()


def _forms(value: str) -> Iterable[str]:
    yield value
    for line in value.splitlines():
        yield line.strip()
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
    encodable = value.encode("utf-8", "surrogatepass")
    yield quote(encodable, safe="")
    yield quote_plus(encodable)
