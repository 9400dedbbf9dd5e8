"""Whether a coordinator answers where one is said to be, who answers instead, and which services it lists."""

import re
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from orth.doctor.asking import Answer, NoAnswer, Silence, ask, bearer
from orth.doctor.case import Case
from orth.doctor.verdicts import Verdict, bad, ok, warn

COORDINATOR = "a coordinator"
_EXECUTOR = "an executor"
_TITLE = re.compile(rb"<title[^>]*>([^<]{1,80})", re.IGNORECASE)
_SHOWN = 3
_FAILED = "Failed"


def look_at_registry(case: Case, url: str) -> list[Verdict]:
    """Reachable, ours, and able to work."""
    try:
        who = who_answers(url, case.ca_file)
        if who != COORDINATOR:
            return [_not_ours(case, url, who)]
        ready = ask(f"{url}/health/ready", ca_file=case.ca_file)
        if ready.status != 200:
            what = (
                f"{url}: a coordinator answers, but it cannot work: its database does not answer (HTTP {ready.status})."
            )
            return [bad(what, "Look at the check store there, and at that coordinator's log.")]
        listed = ask(f"{url}/api/orchestrators", headers=bearer(case.credential()), ca_file=case.ca_file)
        return [_of_list(url, listed)]
    except NoAnswer as silent:
        return [nobody(url, silent)]


def who_answers(url: str, ca_file: Path | None = None) -> str:
    """Who answers at ``url``, for people; ``NoAnswer`` if nobody does."""
    live = ask(f"{url}/health/live", ca_file=ca_file)
    if live.status == 200 and isinstance(live.json, dict) and live.json.get("status") == "alive":
        return COORDINATOR
    health = ask(f"{url}/health", ca_file=ca_file)
    if health.status in (200, 503) and isinstance(health.json, dict) and "status" in health.json:
        return _EXECUTOR
    return _described(live)


def _described(answer: Answer) -> str:
    """Something we do not know: what it says of itself."""
    title = _TITLE.search(answer.body)
    facts = [f"HTTP {answer.status}"]
    facts += [f"server {answer.headers['Server'][:80]!r}"] if answer.headers.get("Server") else []
    facts += [f"page {title[1].decode('utf-8', 'replace').strip()!r}"] if title else []
    if answer.headers.get("Location"):
        facts.append(f"redirects to {answer.headers['Location'][:200]!r}")
    return f"something that is not Orth ({', '.join(facts)})"


def _not_ours(case: Case, url: str, who: str) -> Verdict:
    if who == _EXECUTOR:
        return bad(
            f"{url}: an executor answers there, not a coordinator.",
            "Write the address of a coordinator in registry.url and executor.coordinators.",
        )
    root = coordinator_above(url, case.ca_file)
    if root is not None:
        return bad(f"{url}: a coordinator answers at {root}, not below it.", f"Leave the path out: {root}.")
    return bad(
        f"{url}: {who} answers.",
        "Correct the address: registry.url (RegistryApiUrl) and executor.coordinators name a coordinator, "
        "such as http://127.0.0.1:5080.",
    )


def coordinator_above(url: str, ca_file: Path | None = None) -> str | None:
    """The address without the path of ``url``, if a coordinator answers there and ``url`` has a path."""
    parts = urlsplit(url)
    root = f"{parts.scheme}://{parts.netloc}"
    try:
        return root if root != url and who_answers(root, ca_file) == COORDINATOR else None
    except NoAnswer:
        return None


def _of_list(url: str, answer: Answer) -> Verdict:
    if answer.status == 200 and isinstance(answer.json, list):
        return ok(f"{url}: a coordinator answers; it lists {len(answer.json)} orchestrators.")
    if answer.status in (401, 403):
        return ok(f"{url}: a coordinator answers (it wants another credential than there is here).")
    if answer.status == 404:
        return bad(
            f"{url}: a coordinator answers, but it has no Registry API.",
            "Name a process with the role registry (--roles), and the same version of Orth everywhere.",
        )
    return warn(f"{url}: a coordinator answers, but not to the list (HTTP {answer.status}).", "Look at its log.")


def nobody(url: str, silent: NoAnswer) -> Verdict:
    """A verdict on an address at which nobody answers."""
    steps = {
        Silence.NAME: f"Correct the name, or add it to the hosts file: 127.0.0.1 {urlsplit(url).hostname}.",
        Silence.REFUSED: "Start it (orth up, or orth server), or correct registry.url and executor.coordinators.",
        Silence.TIMEOUT: "Look for a firewall that drops that port, and whether the process stands still.",
        Silence.UNREACHABLE: "Look at the network and its routes between the two machines.",
        Silence.CERTIFICATE: "Look at the check certificates.",
        Silence.PLAIN: f"Write {url.replace('https:', 'http:', 1)}.",
        Silence.STRANGE: f"Is it {url.replace('http:', 'https:', 1)}? Otherwise the port is of another program.",
    }
    return bad(
        f"{url}: {silent}.", steps.get(silent.silence, "Look at the address and at the log of who listens there.")
    )


def not_looked_at(url: str, silent: NoAnswer) -> Verdict:
    """For checks that only say something about a coordinator that answers."""
    return warn(f"{url}: not looked at: {silent}.", "See the check registry.")


def look_at_services(case: Case, url: str) -> list[Verdict]:
    """Which services the registry lists, and which of them it has lost."""
    try:
        lists = {
            kind: ask(f"{url}/api/{kind}", headers=bearer(case.credential()), ca_file=case.ca_file)
            for kind in ("orchestrators", "agents")
        }
    except NoAnswer as silent:
        return [not_looked_at(url, silent)]
    refused = next((one for one in lists.values() if one.status != 200 or not isinstance(one.json, list)), None)
    if refused is not None:
        return [
            warn(
                f"{url}: the services cannot be listed (HTTP {refused.status}).", "See the checks registry and tokens."
            )
        ]
    return judge_services(url, lists["orchestrators"].json, lists["agents"].json)


def judge_services(url: str, orchestrators: list[Any], agents: list[Any]) -> list[Verdict]:
    failed = [one for one in (*orchestrators, *agents) if isinstance(one, dict) and one.get("status") == _FAILED]
    verdicts = []
    if failed:
        named = ", ".join(str(one.get("url")) for one in failed[:_SHOWN])
        more = f" and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
        verdicts.append(
            warn(
                f"{url}: {len(failed)} registered services are lost: {named}{more}.",
                "Look at their logs; one that is gone for good is removed by itself.",
            )
        )
    if not orchestrators or not agents:
        kind = "orchestrator" if not orchestrators else "agent"
        verdicts.append(
            warn(
                f"{url}: no {kind} has registered.",
                f"Look in the {kind}'s log for 'Failed to register' and at its registry.url.",
            )
        )
    return verdicts or [ok(f"{url}: {_counted('orchestrators', orchestrators)}; {_counted('agents', agents)}.")]


def _counted(kind: str, services: list[Any]) -> str:
    counts = Counter(str(one.get("status")) for one in services if isinstance(one, dict))
    return f"{len(services)} {kind} ({', '.join(f'{count} {status}' for status, count in sorted(counts.items()))})"
