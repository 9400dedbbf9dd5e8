"""The difference between this machine's clock and a coordinator's, measured with half the round trip.

A coordinator says its time to the millisecond in ``/health/live``. Where only the ``Date`` header comes through, a
second is all that can be said.
"""

from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from orth.doctor.answering import not_looked_at
from orth.doctor.asking import Answer, NoAnswer, ask
from orth.doctor.case import Case
from orth.doctor.verdicts import Verdict, bad, ok, warn

_SAMPLES = 3
_NOTICED = 1.0
_WRONG = 30.0
_MEND = "Let both machines follow the same time server (chrony, systemd-timesyncd)."


@dataclass(frozen=True, slots=True)
class Offset:
    """``seconds`` the other clock is ahead; true to within ``doubt``."""

    seconds: float
    doubt: float


def look_at_clock(case: Case, url: str) -> list[Verdict]:
    try:
        samples = [offset for _ in range(_SAMPLES) if (offset := _sample(case, url)) is not None]
    except NoAnswer as silent:
        return [not_looked_at(url, silent)]
    if not samples:
        return [warn(f"{url}: what answers does not say its time.", "See the check registry.")]
    return [judge_offset(url, min(samples, key=lambda one: one.doubt))]


def judge_offset(url: str, offset: Offset) -> Verdict:
    """Only what exceeds the doubt counts."""
    sure = max(0.0, abs(offset.seconds) - offset.doubt)
    side = "ahead of" if offset.seconds >= 0 else "behind"
    said = f"{url}: its clock is {abs(offset.seconds):.3f} s {side} this one (± {offset.doubt:.3f} s)"
    if sure >= _WRONG:
        return bad(f"{said}: sign-ins end early or late, and logs cannot be compared.", _MEND)
    if sure >= _NOTICED:
        return warn(f"{said}: fires would shift by that when another coordinator leads.", _MEND)
    return ok(f"{said}.")


def _sample(case: Case, url: str) -> Offset | None:
    clock = case.clock
    began, sent = clock.now(), clock.monotonic()
    answer = ask(f"{url}/health/live", ca_file=case.ca_file)
    trip = clock.monotonic() - sent
    said = _said(answer)
    if said is None:
        return None
    theirs, doubt = said
    return Offset(theirs - (began / 1000 + trip / 2), trip / 2 + doubt)


def _said(answer: Answer) -> tuple[float, float] | None:
    """The time an answer tells, in seconds since 1970, and how exact it is."""
    told = answer.json
    if isinstance(told, dict) and isinstance(told.get("now"), int):
        return told["now"] / 1000, 0.001
    try:
        date = parsedate_to_datetime(answer.headers.get("Date", "")).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return date + 0.5, 1.5  # cut to the second, and servers write it once a second
