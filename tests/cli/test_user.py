"""``orth user`` against a served coordinator, and against the database where nobody can sign in."""

import json

import pytest

from orth.coordinator.signing import password_fits
from orth.store.users import find_user
from tests.cli.conftest import Run
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.live import Site


class Orth(SignedIn):
    command = "user"


@pytest.fixture
def orth(run: Run, served: Site) -> Orth:
    served.reset()
    return Orth(run, served)


def stored_password(site: Site, username: str) -> str:
    user = site.tx(find_user, username)
    assert user is not None
    return user.password


def test_people_are_added_given_roles_and_removed(orth: Orth) -> None:
    reports, invoices = orth.site.group("reports"), orth.site.group("invoices")
    made = orth("add", "ada", "--role", "viewer")
    assert "(shown this once)" in made
    assert "reports: editor" in orth("grant", "ada", "reports", "editor")
    orth("grant", "ada", str(invoices), "operator")
    listed = json.loads(orth("list", "-o", "json"))[1]
    assert listed["grants"] == [{"group_id": reports, "role": "editor"}, {"group_id": invoices, "role": "operator"}]
    assert "invoices: operator" not in orth("revoke", "ada", "invoices")
    assert "Role       none everywhere" in orth("role", "ada", "none")
    assert "State      disabled" in orth("disable", "ada")
    assert orth("list").splitlines()[2].split() == [str(listed["id"]), "ada", "-", "reports:", "editor", "disabled"]
    assert "State      enabled" in orth("enable", "ada")
    orth("remove", "ada")
    assert len(orth("list").splitlines()) == 2


def test_a_password_is_given_made_or_read(orth: Orth, run: Run) -> None:
    orth("add", "ada")
    made = json.loads(orth("password", "ada", "-o", "json"))["password"]
    assert password_fits(made, stored_password(orth.site, "ada"))
    result = run("user", "password", "ada", "--password-stdin", typed="typed by hand\n", **orth.environ)
    assert result.exit_code == 0, result.output
    assert "typed by hand" not in result.output
    assert password_fits("typed by hand", stored_password(orth.site, "ada"))


def test_a_password_is_reset_in_the_database_by_who_is_at_the_machine(orth: Orth, run: Run) -> None:
    session = orth.site.bearer(orth.site.access_token())
    store = f"sqlite:///{orth.site.file}"
    result = run("user", "password", "admin", "--store", store, "-o", "json")
    assert result.exit_code == 0, result.output
    assert password_fits(json.loads(result.output)["password"], stored_password(orth.site, "admin"))
    entry = orth.site.contents()["orth_audit"][-1]
    session.get("/api/v1/jobs").problem(401)
    assert (entry["actor_kind"], entry["action"]) == ("command", "user.password")
    assert entry["actor"].startswith("orth user by ")
    assert run("user", "password", "nobody", "--store", store).exit_code != 0
    short = run("user", "password", "admin", "--store", store, "--password-stdin", typed="short\n")
    assert short.exit_code != 0
    assert "10 characters" in str(short.exception)


def test_whoever_is_not_there_is_said_so(orth: Orth, run: Run) -> None:
    for arguments in (("role", "nobody", "viewer"), ("remove", "nobody"), ("grant", "admin", "no-group", "viewer")):
        result = run("user", *arguments, **orth.environ)
        assert result.exit_code != 0
        assert "There is no" in str(result.exception)
