"""The store: reachable, quick, of a supported version, with the schema this program knows."""

from pathlib import Path

from orth.cluster.alone import AliveLocks
from orth.doctor.case import Case
from orth.doctor.verdicts import Verdict, bad, ok, warn
from orth.errors import OrthError

_SLOW = 0.05
_VERY_SLOW = 1.0
_SQLITE = "sqlite:///"


def look_at_store(case: Case, _subject: str) -> list[Verdict]:
    url = case.settings.store_url
    if url.startswith(_SQLITE) and not Path(url.removeprefix(_SQLITE).partition("?")[0]).exists():
        return [ok("There is no SQLite file yet; the first start of a coordinator makes it.")]
    try:
        from orth.store.looking import StoreFacts, look
    except ModuleNotFoundError as missing:
        return [warn(f"Not looked at: {missing.name} is not installed here.", "Only coordinators need the store.")]
    try:
        facts: StoreFacts = look(url, case.clock)
    except OrthError as error:
        return [bad(error.message, error.hint or "Check store.url and that the server runs.")]
    verdicts = []
    if facts.too_old:
        verdicts.append(bad(f"{facts.kind} {facts.version} is too old.", f"Install {facts.oldest} or newer."))
    if facts.schema != facts.needed:
        verdicts.append(_of_schema(facts.schema, facts.needed, newer=facts.newer))
    if facts.seconds >= _SLOW:
        said = f"{facts.kind} takes {facts.seconds * 1000:.0f} ms for the smallest question"
        slow = bad if facts.seconds >= _VERY_SLOW else warn
        verdicts.append(slow(f"{said}: everything waits for it.", "Look at its load, and at the network between."))
    if url.startswith(_SQLITE):
        verdicts += _of_sharing(url)
    answers = f"{facts.kind} {facts.version} answers within {facts.seconds * 1000:.1f} ms"
    return verdicts or [ok(f"{answers} and has the schema {facts.schema}.")]


def _of_sharing(url: str) -> list[Verdict]:
    """SQLite has one writer at a time, and a process that stands still keeps the lock."""
    count = AliveLocks(Path(url.removeprefix(_SQLITE).partition("?")[0])).count_live()
    if count < 2:
        return []
    said = f"{count} coordinators share the SQLite file. If one of them freezes while it writes, no other can lead"
    return [warn(f"{said} or write until it moves again.", "Use PostgreSQL or MariaDB for several coordinators.")]


def _of_schema(schema: str | None, needed: str, *, newer: bool) -> Verdict:
    said = f"The database has the schema {schema or 'of nobody'}, and this program needs {needed}."
    return bad(said, "Install a newer Orth." if newer else "Run: orth db upgrade")
