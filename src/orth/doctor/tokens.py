"""Whether the credentials this machine has are accepted."""

from orth.doctor.answering import not_looked_at
from orth.doctor.asking import NoAnswer, ask, bearer
from orth.doctor.case import Case
from orth.doctor.verdicts import Verdict, bad, ok, warn
from orth.errors import CannotStart


def look_at_access_token(case: Case, url: str) -> list[Verdict]:
    """The token of executors, shown where they register."""
    try:
        token = case.access_token()
    except CannotStart as why:
        if url not in case.registries[:1]:  # said once
            return []
        return [bad(why.message, why.hint or "Set security.access_token.")]
    try:
        answer = ask(f"{url}/api/agents", headers={"ORTH-ACCESS-TOKEN": token}, ca_file=case.ca_file)
    except NoAnswer as silent:
        return [not_looked_at(url, silent)]
    if answer.status == 200:
        return [ok(f"{url}: it accepts the access token.")]
    if answer.status in (401, 403):
        return [
            bad(
                f"{url}: it refuses the access token of this machine (HTTP {answer.status}).",
                "Set security.access_token (ORTH_SECURITY__ACCESS_TOKEN) to the one that the coordinators have.",
            )
        ]
    return [warn(f"{url}: it answers HTTP {answer.status} to the access token.", "See the check registry.")]


def look_at_api_token(case: Case, url: str) -> list[Verdict]:
    """What commands show: ``ORTH_TOKEN``, or the sign-in of ``orth login``."""
    if case.api_token is None:
        return [ok(f"{url}: nobody is signed in here, which only commands that call the API need.")]
    try:
        answer = ask(f"{url}/api/v1/cluster", headers=bearer(case.api_token), ca_file=case.ca_file)
    except NoAnswer as silent:
        return [not_looked_at(url, silent)]
    if answer.status == 200:
        return [ok(f"{url}: it accepts the API token.")]
    if answer.status in (401, 403):
        what = f"{url}: it refuses the API token (HTTP {answer.status}): it has run out, or is of another cluster."
        return [bad(what, "Run: orth login; or set ORTH_TOKEN anew.")]
    return [warn(f"{url}: it answers HTTP {answer.status} to the API token.", "See the check registry.")]
