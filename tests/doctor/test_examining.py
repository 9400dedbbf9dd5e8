import threading
import time
from pathlib import Path

import pytest

from orth.doctor import CHECKS, Case, State, Verdict, examine
from orth.doctor.examining import Check
from orth.doctor.verdicts import ok
from tests.doctor.places import COORDINATOR, at, case_of, serving


def test_every_check_has_something_to_say_about_a_bare_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free_port: int
) -> None:
    monkeypatch.chdir(tmp_path)
    verdicts = examine(at(f"http://127.0.0.1:{free_port}"))
    assert list(dict.fromkeys(one.check for one in verdicts)) == [name for name in CHECKS if name != "names"]
    assert all(one.what for one in verdicts)
    assert [one for one in verdicts if "the check itself failed" in one.what] == []
    assert [one.check for one in verdicts if one.state is State.BAD] == ["registry"]
    assert not list(tmp_path.iterdir()), "looking makes nothing"


def test_only_the_checks_that_are_asked_for() -> None:
    assert {one.check for one in examine(case_of(), ["zones", "files"])} == {"zones", "files"}


def test_with_settings_that_cannot_be_read_only_the_machine_is_looked_at() -> None:
    verdicts = examine(case_of(bad_settings=("unknown setting stor.url",)))
    assert [one.check for one in verdicts] == ["settings", "package", "console", "files", "zones", "settings"]
    left_out = verdicts[-1].what.rstrip(".").partition("are wrong: ")[2].split(", ")
    assert {*left_out, *(one.check for one in verdicts)} == set(CHECKS)


def test_settings_that_cannot_be_read_are_told_whatever_check_is_asked_for() -> None:
    settings, left_out = examine(case_of(bad_settings=("unknown setting stor.url",)), ["redis", "store"])
    assert (settings.check, settings.state, settings.what) == ("settings", State.BAD, "unknown setting stor.url")
    assert left_out.state is State.WARN
    assert left_out.what == "Not checked while the settings are wrong: store, redis."
    assert [one.check for one in examine(case_of(bad_settings=("x",)), ["zones"])] == ["settings", "zones"]


def test_a_check_that_takes_too_long_or_fails_is_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    done = threading.Event()

    def slow(_case: Case, _subject: str) -> list[Verdict]:
        done.wait(30)
        return [ok("late")]

    def broken(_case: Case, _subject: str) -> list[Verdict]:
        raise KeyError("the-password-of-this-test")

    monkeypatch.setitem(CHECKS, "slow", Check("slow", slow, lambda _: ["there"]))
    monkeypatch.setitem(CHECKS, "broken", Check("broken", broken))
    case = case_of({"security": {"admin_password": "the-password-of-this-test"}})
    began = time.monotonic()
    late, failed = examine(case, ["slow", "broken"], patience=0.3)
    assert time.monotonic() - began < 5
    done.set()
    assert (late.state, failed.state) == (State.BAD, State.BAD)
    assert late.what == "there: it took too long to look at."
    assert "failed with KeyError: '********'" in failed.what


def test_subjects_are_looked_at_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(8, timeout=10)

    def meet(_case: Case, subject: str) -> list[Verdict]:
        together.wait()
        return [ok(subject)]

    monkeypatch.setitem(CHECKS, "meet", Check("meet", meet, lambda _: map(str, range(8))))
    assert [one.what for one in examine(case_of(), ["meet"])] == list(map(str, range(8)))


def test_no_secret_is_ever_told() -> None:
    with serving(
        {**COORDINATOR, "/health/live": "<title>what-executors-show</title>"}, server="what-executors-show"
    ) as place:
        verdicts = examine(at(place.url, token="what-executors-show"), ["registry"])
    assert "********" in verdicts[0].what
    assert "what-executors-show" not in str(verdicts)
    case = case_of({"store": {"url": "postgresql://orth:p%40ss-word@db/orth"}}, api_token="session-token")
    hidden = case.hide("p%40ss-word and p@ss-word, session-token, redis://:other@cache/0")
    assert hidden == "******** and ********, ********, redis://:********@cache/0"


def test_a_coordinator_is_found_under_the_prefix_of_other_clients() -> None:
    case = at("http://a:5080/xxl-job-admin/", "http://a:5080", server="http://b:5080")
    assert case.coordinators == ("http://b:5080", "http://a:5080")
    assert case.registries == case.coordinators
    named = case_of({"registry": {"url": "http://r:5060/"}})
    assert (named.registries, named.answerers) == (("http://r:5060",), ("http://r:5060", "http://127.0.0.1:5080"))
