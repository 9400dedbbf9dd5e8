"""Hiding the secrets of an execution, and its executor's token, in what it writes: its log, its progress, its result.

A secret is looked for as it is, line by line if it has several, and in the spellings that Python, JSON, URLs and shells
give it. Whoever encodes it in another way, or takes it to pieces, has written something that nobody can recognise: this
is a net under mistakes, no wall against the job itself, which must know its secrets.
"""

import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

SHORTEST_HIDDEN = 4
"""Characters a text must have to be hidden: shorter ones are part of ordinary words."""
SHORTEST_TOKEN = 16
"""The same of a token of executors. A shorter one is good on this machine alone."""
HIDDEN = "***"
_KEPT_IN_URLS = ("", "/", "!'()*", "!'()*;,/?:@&=+$#")
"""What is written as it is, besides letters and digits: by Python, and by encodeURIComponent and
encodeURI of JavaScript."""
_GO = str.maketrans({character: f"\\u{ord(character):04x}" for character in "&<>\u2028\u2029"})
_NAMED_IN_SHELLS = dict(zip("\a\b\t\n\v\f\r\x1b'\\", "abtnvfrE'\\", strict=True))


class Mask:
    """Replaces these values wherever they stand in a text."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values = tuple(values)
        forms = {form for value in self._values for form in _forms(value) if len(form) >= SHORTEST_HIDDEN}
        self._forms = sorted(forms, key=len, reverse=True)  # the whole before its lines
        self._pattern = re.compile("|".join(map(re.escape, self._forms))) if forms else None
        self.longest = len(self._forms[0]) if forms else 0
        """Characters of the longest form."""

    def beside(self, values: Iterable[str]) -> "Mask":
        """One that hides these as well."""
        more = tuple(values)
        return Mask((*self._values, *more)) if more else self

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


def mask_of_token(token: str) -> Mask:
    """Hides the executor's own token, unless it is a word that people may write."""
    return Mask([token]) if len(token) >= SHORTEST_TOKEN else NOTHING_HIDDEN


def _forms(value: str) -> Iterable[str]:
    yield value
    for line in value.splitlines():
        yield line.strip()
    yield repr(value)[1:-1]
    yield ascii(value)[1:-1]
    yield repr(value.encode("utf-8", "surrogatepass"))[2:-1]
    in_json = set(_json_forms(value))
    yield from in_json
    for form in in_json:
        yield from _json_forms(form)  # JSON as a text in JSON
    yield from _url_forms(value)
    for text in {value, *value.splitlines()}:
        yield from _shell_forms(text)


def _json_forms(text: str) -> Iterable[str]:
    for form in {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}:
        yield form
        yield form.replace("/", "\\/")  # PHP
        yield form.translate(_GO)


def _url_forms(value: str) -> Iterable[str]:
    encodable = value.encode("utf-8", "surrogatepass")
    for form in {quote_plus(encodable), *(quote(encodable, safe=kept) for kept in _KEPT_IN_URLS)}:
        yield form
        yield re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), form)


def _shell_forms(text: str) -> Iterable[str]:
    """As shells spell it: when they trace (``set -x``), list variables, or quote (``printf %q``)."""
    yield text.replace("'", "'\\''")
    yield text.replace("'", """'"'"'""")
    yield re.sub(r'(["$`\\])', r"\\\1", text)
    yield re.sub(r"[\x00-\x1f\x7f-\x9f'\\]", _in_dollar_quotes, text)
    yield re.sub(r"[^ -~]|['\\]", _in_dollar_quotes, text)  # where the locale is C
    quoted = re.sub(r"""([ \t\n!"$&'()*,;<>?\[\\\]^`{|}]|(?<=[:=])~)""", r"\\\1", text)
    yield quoted
    yield re.sub("^[#~]", r"\\\g<0>", quoted)  # where a word begins
    yield re.sub(r"([$()*+.?\[\\^{|])", r"\\\1", text)  # the right side of =~ in [[ ]]
    yield re.sub(r"([^\x01\x7f])", r"\\\1", text)  # and that of ==


def _in_dollar_quotes(found: re.Match[str]) -> str:
    named = _NAMED_IN_SHELLS.get(found[0])
    if named is not None:
        return f"\\{named}"
    return "".join(f"\\{byte:03o}" for byte in found[0].encode("utf-8", "surrogatepass"))
