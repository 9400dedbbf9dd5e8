"""What was chosen: settings that fit each other, and channels that fit the store."""

from orth.doctor.case import Case
from orth.doctor.verdicts import Verdict, bad, ok, warn

_MANY = "coordinators that do not hear each other wake each other only by looking"


def look_at_settings(case: Case, _subject: str) -> list[Verdict]:
    if case.bad_settings:
        return [bad(problem, "Mend it; orth config validate checks again.") for problem in case.bad_settings]
    origin = case.settings.file or "no settings file"
    surprises = [
        warn(str(one), "orth config view --show-origin shows where it is set.") for one in case.settings.warnings
    ]
    return surprises or [ok(f"The settings fit together ({origin}).")]


def look_at_channels(case: Case, _subject: str) -> list[Verdict]:
    """Whether all who share the store can hear each other."""
    scheme = case.settings.channels_url.partition(":")[0]
    store = case.settings.store_url.partition(":")[0].partition("+")[0]
    count = case.settings.apphost.coordinators
    if case.listening and scheme == "memory" and not case.settings.channels.url:
        return [ok(f"database:// fits the store ({store}): the processes of orth up here share it.")]
    if scheme == "memory" and store != "sqlite":
        return [
            warn(
                f"channels.url is memory://, while the store is {store}: {_MANY}.",
                "Leave channels.url out (it is database:// then), or name a Redis.",
            )
        ]
    if scheme == "memory" and case.settings.channels.url and count > 1:
        return [
            warn(
                f"channels.url is memory://, and apphost.coordinators is {count}: {_MANY}.",
                "Leave channels.url out, or write database://.",
            )
        ]
    return [ok(f"{scheme}:// fits the store ({store}).")]
