"""Code that travels with a job: what it may be, how it is recognised, and how two versions of it differ. Pure.

The parameter of a built-in handler is code as well: it says which program runs, or which address is called.
"""

import difflib
import hashlib
from collections.abc import Iterator, Sequence

from orth.domain.jobs import GlueType, Job
from orth.domain.script_headers import check_header
from orth.errors import Invalid

COMMAND = "orth.command"
HTTP = "orth.http"
REMARK_SHORTEST = 4
REMARK_LONGEST = 100

_CONTEXT = 3
_COMPARED = 1_000_000
"""Pairs of lines that are compared, at most: beyond that a part that changed is shown as replaced as a whole."""
_UNENDED = "\n\\ No newline at end of file\n"


def reads_code(handler: str) -> bool:
    """Whether the parameter of this handler is code."""
    return handler in (COMMAND, HTTP)


def runs_code(job: Job) -> bool:
    """Whether what ``job`` itself says to run is a program of its writer's choice."""
    return job.glue_type is not GlueType.BEAN or job.executor_handler == COMMAND


def digest_of(source: str) -> str:
    """The SHA-256 of the source as it is sent."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


def check_code(glue_type: GlueType, source: str, remark: str, limit: int) -> None:
    """Refuse code that could not be kept or sent as it was written, and a version nobody says anything about."""
    if glue_type is GlueType.BEAN:
        raise Invalid.of("bean_has_no_code", field="glue_type")
    check_source(source, limit)
    check_header(glue_type, source)
    if not REMARK_SHORTEST <= len(remark) <= REMARK_LONGEST:
        raise Invalid.of("remark_length", shortest=REMARK_SHORTEST, longest=REMARK_LONGEST, field="glue_remark")


def check_source(source: str, limit: int) -> None:
    """Refuse a source that is empty, longer than ``limit`` bytes, or no text."""
    if not source.strip():
        raise Invalid.of("no_code", field="glue_source")
    if "\x00" in source:
        raise Invalid.of("code_with_nul", field="glue_source")
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise Invalid.of("code_with_half_pair", field="glue_source") from None
    if size > limit:
        raise Invalid.of("code_too_large", size=size, limit=limit, field="glue_source")


def difference(before: str, after: str, before_name: str, after_name: str) -> str:
    """A unified diff; empty when both are the same. Its cost has a bound, whatever the texts are."""
    old, new = _lines(before), _lines(after)
    head, tail = _common(old, new)
    if (len(old) - head - tail) * (len(new) - head - tail) > _COMPARED:
        made = _replaced(old, new, head, tail, (before_name, after_name))
    else:
        made = difflib.unified_diff(old, new, before_name, after_name, n=_CONTEXT)
    return "".join(line if line.endswith("\n") else line + _UNENDED for line in made)


def _lines(text: str) -> list[str]:
    """With their ends; only a line feed ends one, as everywhere a script is read."""
    *whole, rest = text.split("\n")
    return [line + "\n" for line in whole] + ([rest] if rest else [])


def _common(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines at the beginning and at the end are the same."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next((at for at in range(most - head) if old[-1 - at] != new[-1 - at]), most - head)
    return head, tail


def _replaced(old: Sequence[str], new: Sequence[str], head: int, tail: int, names: tuple[str, str]) -> Iterator[str]:
    """One hunk: everything between what is common at both ends."""
    first, after = max(0, head - _CONTEXT), min(tail, _CONTEXT)
    old_end, new_end = len(old) - tail, len(new) - tail
    yield f"--- {names[0]}\n"
    yield f"+++ {names[1]}\n"
    yield f"@@ -{first + 1},{old_end + after - first} +{first + 1},{new_end + after - first} @@\n"
    yield from (" " + line for line in old[first:head])
    yield from ("-" + line for line in old[head:old_end])
    yield from ("+" + line for line in new[head:new_end])
    yield from (" " + line for line in old[old_end : old_end + after])
