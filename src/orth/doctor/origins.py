"""Whether the console's page may open the live socket, and pages of others may not."""

from urllib.parse import urlsplit

from orth.doctor.answering import not_looked_at
from orth.doctor.asking import PATIENCE, NoAnswer, Silence, ask, bearer
from orth.doctor.case import Case
from orth.doctor.verdicts import Verdict, bad, ok, warn
from orth.errors import Unavailable
from orth.wire.live_calls import LiveRefused, live_line
from orth.wire.trusting import trusting

STRANGER = "https://another-site.invalid"
_REFUSED_BY_BROWSERS = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 5060, 5061, 6000, 6566, *range(6665, 6670), 6697, 10080}
)
"""Ports above 1023 that browsers do not open, whatever listens there."""


def look_at_origins(case: Case, url: str) -> list[Verdict]:
    try:
        ask(f"{url}/health/live", ca_file=case.ca_file)
        stranger = _knock(case, url, STRANGER)
        if stranger == 404:
            return [warn(f"{url}: it has no live socket at /ws.", "See the check registry.")]
        verdicts = [_of_page(url, page, _knock(case, url, page)) for page in pages(case, url)]
    except NoAnswer as silent:
        return [not_looked_at(url, silent)]
    if stranger in (101, 200):
        verdicts.append(
            bad(
                f"{url}: pages of any other site may open its live socket.",
                "Look at console.origins, and at the proxy.",
            )
        )
    return [*verdicts, *(_of_port(page) for page in pages(case, url) if _is_refused(page))]


def pages(case: Case, url: str) -> list[str]:
    """The origins that the console's page may have: what is configured, else the coordinator's own."""
    console = case.settings.console
    named = [page for page in (console.base_url, *console.origins) if page]
    return list(dict.fromkeys(_origin(page) for page in (*named, url)))


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _of_page(url: str, page: str, status: int) -> Verdict:
    if status == 101:
        return ok(f"{url}: pages of {page} may open its live socket.")
    if status == 403:
        return bad(
            f"{url}: pages of {page} may not open its live socket; the console would say that it is disconnected.",
            f"Add {page} to console.origins there, or open the console at the coordinator's own address.",
        )
    if status == 401:
        return warn(f"{url}: the live socket wants another credential than there is here.", "See the check tokens.")
    return warn(f"{url}: the live socket answers HTTP {status} to pages of {page}.", "Look at the proxy and its log.")


def _is_refused(page: str) -> bool:
    return urlsplit(page).port in _REFUSED_BY_BROWSERS


def _of_port(page: str) -> Verdict:
    return warn(
        f"{page}: browsers do not open port {urlsplit(page).port}.",
        "Programs can use it; open the console at another port, which serves the same API.",
    )


def _knock(case: Case, url: str, origin: str) -> int:
    """The status with which a socket for a page of ``origin`` is answered; 101 means that it was opened."""
    try:
        with live_line(
            url, headers=bearer(case.credential()), origin=origin, patience=PATIENCE, tls=trusting(case.ca_file)
        ):
            return 101
    except LiveRefused as refused:
        return refused.status
    except Unavailable:
        raise NoAnswer(Silence.STRANGE) from None
