"""``orth executors`` against a served coordinator."""

import pytest

from orth.errors import Invalid, NotFound
from tests.cli.conftest import Run
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.enrolled import EnrolledCaller
from tests.coordinator.http.live import ACCESS_TOKEN, Site

FIRST, SECOND = "http://10.0.0.1:9999", "http://10.0.0.2:9999"


class Orth(SignedIn):
    command = "executors"


@pytest.fixture
def orth(run: Run, served: Site) -> Orth:
    served.reset()
    for app_name, address in (("demo", FIRST), ("demo", SECOND), ("other", SECOND)):
        served.executor().post("/api/registry", {"registryKey": app_name, "registryValue": address}).envelope()
    return Orth(run, served)


def drained(orth: Orth) -> list[str]:
    _head, *rows = (line.split() for line in orth("list", "--app-name", "demo").splitlines())
    return [row[1] for row in rows if row[3] == "yes"]


def test_an_executor_is_drained_and_resumed(orth: Orth) -> None:
    assert orth("list").split()[:5] == ["GROUP", "ADDRESS", "STATE", "DRAINED", "LOAD"]
    assert drained(orth) == []
    assert orth("drain", f"{FIRST}/") == f"{FIRST} of demo gets nothing new.\n"
    assert drained(orth) == [FIRST]
    assert orth("resume", FIRST) == f"{FIRST} of demo gets work.\n"
    assert drained(orth) == []
    assert orth("list", "-o", "name").split() == [FIRST, SECOND, SECOND]


def test_an_address_in_two_groups_needs_the_name_of_one(orth: Orth, run: Run) -> None:
    refused = run("executors", "drain", SECOND, **orth.environ)
    assert isinstance(refused.exception, Invalid)
    assert refused.exception.message == f"{SECOND} is in demo, other."
    orth("drain", SECOND, "--app-name", "other")
    assert drained(orth) == []
    missing = run("executors", "drain", "http://10.0.0.9:9999", **orth.environ)
    assert isinstance(missing.exception, NotFound)


def test_an_executor_is_admitted_and_revoked(orth: Orth) -> None:
    orth.site.admin().post("/api/v1/groups", {"app_name": "known-ones", "admission": "known"})
    executor = EnrolledCaller(orth.site.url, ACCESS_TOKEN, "known-ones", orth.site.clock)
    assert executor.beat().status == 403
    (number,) = orth("keys", "--waiting", "-o", "name").split()
    assert orth("keys", "--waiting").split()[:3] == ["ID", "GROUP", "STATE"]
    assert orth("admit", number) == f"Executor {number} ({executor.address}, known-ones) is admitted.\n"
    assert executor.beat().status == 200
    assert orth("keys", "--waiting", "-o", "name").split() == []
    assert orth("revoke", number) == f"Executor {number} ({executor.address}, known-ones) is revoked.\n"
    assert executor.beat().status in (401, 409)
