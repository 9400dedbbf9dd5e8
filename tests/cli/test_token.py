"""``orth token`` against a served coordinator."""

import json

import pytest

from tests.cli.conftest import Run
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.enrolled import EnrolledCaller
from tests.coordinator.http.live import Caller, Site


class Orth(SignedIn):
    command = "token"


@pytest.fixture
def orth(run: Run, served: Site) -> Orth:
    served.reset()
    return Orth(run, served)


def text_of(output: str) -> str:
    return next(word for word in output.split() if word.startswith("orth_"))


def test_a_token_for_a_program_from_its_making_to_its_end(orth: Orth) -> None:
    group = orth.site.group("reports")
    made = orth("create", "ci", "--role", "viewer", "--in-group", "reports=operator", "--days", "30")
    assert "(shown this once)" in made
    assert f"viewer everywhere, group {group}: operator" in made
    text = text_of(made)
    assert orth.site.bearer(text).get("/api/v1/groups").status == 200
    listed = orth("list")
    assert text not in listed
    assert text[:15] in listed
    (one,) = json.loads(orth("list", "-o", "json"))
    rotated = orth("rotate", str(one["id"]), "--overlap", "1m")
    assert f"{text[:15]}…, good until" in rotated
    assert orth.site.bearer(text_of(rotated)).get("/api/v1/groups").status == 200
    assert "is revoked" in orth("revoke", str(one["id"]))
    assert orth.site.bearer(text_of(rotated)).get("/api/v1/groups").status == 401
    assert json.loads(orth("list", "-o", "json")) == []
    assert "revoked" in orth("list", "--all")


def test_a_token_for_executors(orth: Orth) -> None:
    made = orth("create", "nightly", "--executor", "reports", "--executor", "invoices")
    assert "be an executor of reports, invoices" in made
    beat = {"registryGroup": "EXECUTOR", "registryKey": "reports", "registryValue": "http://10.0.0.1:9999"}
    executor = Caller(orth.site.url, {"ORTH-ACCESS-TOKEN": text_of(made)})
    assert executor.post("/api/registry", beat).status == 200


def test_an_app_without_a_group_is_named(orth: Orth, run: Run) -> None:
    orth.site.group("reports")
    made = run("token", "create", "x", "--executor", "nope", "--executor", "reports", **orth.environ)
    assert made.exit_code == 0
    assert "orth_ext_" in made.stdout
    step = "Create the group before executors need it: orth group create nope"
    assert made.stderr == f"There is no group nope yet. {step}\n"
    (one,) = json.loads(orth("list", "-o", "json"))
    assert one["app_names"] == ["nope", "reports"]
    alone = run("token", "create", "y", "--executor", "reports", **orth.environ)
    assert alone.stderr == ""


def test_an_app_whose_executors_wait_for_a_group_is_named(orth: Orth, run: Run) -> None:
    beat = {"registryKey": "found", "registryValue": "http://10.0.0.1:9999"}
    orth.site.executor().post("/api/registry", beat).envelope()
    made = run("token", "create", "x", "--executor", "found", **orth.environ)
    assert "Create the group before executors need it: orth group adopt found\n" in made.stderr


def test_a_token_that_is_accepted_from_some_networks_only(orth: Orth) -> None:
    made = orth("create", "nightly", "--executor", "reports", "--from", "10.20.0.0/16", "--from", "fd00::/8")
    assert "be an executor of reports from 10.20.0.0/16, fd00::/8" in made
    executor = Caller(orth.site.url, {"ORTH-ACCESS-TOKEN": text_of(made)})
    beat = {"registryGroup": "EXECUTOR", "registryKey": "reports", "registryValue": "http://10.0.0.1:9999"}
    assert executor.post("/api/registry", beat).status == 403


def test_a_group_that_is_not_there(orth: Orth, run: Run) -> None:
    for given, code, told in (("nowhere=viewer", 1, "There is no group nowhere"), ("nowhere", 2, "does not end in")):
        result = run("token", "create", "ci", "--in-group", given, **orth.environ)
        assert result.exit_code == code
        assert told in (result.output or str(result.exception)) + str(result.exception)


def test_a_join_token_admits_one_executor(orth: Orth) -> None:
    made = orth("create", "for one", "--executor", "reports", "--once")
    assert "admit one executor of reports" in made
    first, second = (EnrolledCaller(orth.site.url, text_of(made), "reports", orth.site.clock) for _ in range(2))
    assert first.beat().status == 200
    assert second.beat().status in (401, 409)
