"""``orth group`` against a served coordinator."""

import json

import pytest

from orth.errors import ApiProblem, Invalid, NotFound
from tests.cli.conftest import Run
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.live import Site

ADDRESS = "http://10.0.0.1:9999"


class Orth(SignedIn):
    command = "group"

    def refused(self, run: Run, *arguments: str) -> BaseException | None:
        return run(self.command, *arguments, **self.environ).exception


@pytest.fixture
def orth(run: Run, served: Site) -> Orth:
    served.reset()
    return Orth(run, served)


def test_the_life_of_a_group(orth: Orth, run: Run) -> None:
    made = orth("create", "shop-app", "--title", "The shop", "--scripts")
    assert "Title      The shop" in made
    assert "Scripts    allowed" in made
    assert "Addresses  registered: none registered" in made
    number = orth("show", "shop-app", "-o", "name").strip()
    assert orth("show", number) == orth("show", "shop-app")
    head, row = orth("list").splitlines()
    assert head.split() == ["ID", "APP", "NAME", "TITLE", "ADDRESSES", "EXECUTORS", "SCRIPTS"]
    assert row.split()[:2] == [number, "shop-app"]

    manual = orth("edit", "shop-app", "--address", ADDRESS, "--dialect", "xxl")
    assert f"Addresses  manual: {ADDRESS}" in manual
    assert "Title      The shop" in manual, "what is not named stays"
    assert "Scripts    allowed" in manual
    kept = json.loads(orth("edit", "shop-app", "--no-scripts", "-o", "json"))
    assert (kept["address_list"], kept["dialect"], kept["scripts_allowed"]) == ([ADDRESS], "xxl", False)
    assert "Addresses  registered" in orth("edit", number, "--auto")
    assert isinstance(orth.refused(run, "edit", "shop-app", "--auto", "--address", ADDRESS), Invalid)

    assert orth("delete", "shop-app") == f"Deleted group {number} (shop-app).\n"
    assert orth("list", "-o", "name") == ""


def test_executors_that_are_registered_get_their_group(orth: Orth, run: Run) -> None:
    orth.site.executor().post("/api/registry", {"registryKey": "found", "registryValue": ADDRESS}).envelope()
    assert orth("list", "--unclaimed").splitlines()[1].split()[:2] == ["found", "1"]
    unknown = orth.refused(run, "show", "found")
    assert isinstance(unknown, NotFound)
    assert "orth group adopt found" in str(unknown)
    assert f"Addresses  registered: {ADDRESS}" in orth("adopt", "found")
    assert orth("list", "--unclaimed", "-o", "json").strip() == "[]"
    other = orth.refused(run, "show", "nobody")
    assert isinstance(other, NotFound)
    assert "There are: found." in str(other)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [((), "Nothing to change."), (("--title", ""), "it is empty"), (("--title", " "), "it is empty")],
)
def test_an_edit_changes_something(orth: Orth, run: Run, arguments: tuple[str, ...], said: str) -> None:
    orth("create", "shop-app")
    refused = run("group", "edit", "shop-app", *arguments, **orth.environ)
    assert (refused.exit_code, said in refused.output) == (2, True)


def test_a_group_with_jobs_stays(orth: Orth, run: Run) -> None:
    orth.site.job(job_group=orth.site.group())
    refused = orth.refused(run, "delete", orth("list", "-o", "name").strip())
    assert isinstance(refused, ApiProblem)
    assert refused.status == 409
