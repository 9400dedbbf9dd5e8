"""Who tries passwords is slowed down, by account and by address, and nobody else is."""

import json
import shutil
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from orth.coordinator.signing_in.gate import Gate
from orth.coordinator.signing_in.throttling import ATTACKED_FROM, FREE, FREE_OF_ADDRESS, Attempt, take_try
from orth.settings import Settings
from orth.settings.sections import SecuritySection
from orth.store.audit_tables import audit
from orth.store.users import add_user
from tests.coordinator.http.live import PASSWORD, Answer, Site

LOGIN = "/api/v1/auth/login"


@pytest.fixture
def site(prepared: Path, tmp_path: Path) -> Iterator[Site]:
    """Behind a proxy that it trusts, so that callers can come from any address."""
    settings = Settings(security=SecuritySection(trusted_proxies=("127.0.0.1/32",)))
    with Site(Path(shutil.copy(prepared, tmp_path / "orth.db")), settings) as served:
        yield served


def tried(site: Site, address: str, username: str = "admin", password: str = "wrong") -> Answer:
    body = {"username": username, "password": password}
    return site.stranger().post(LOGIN, body, X_Forwarded_For=address)


def test_after_a_few_tries_an_address_has_to_wait_longer_and_longer(site: Site) -> None:
    for _ in range(FREE):
        tried(site, "203.0.113.7").problem(401)
    refused = tried(site, "203.0.113.7")
    assert refused.problem(429)["type"] == "urn:orth:problem:too-many-tries"
    assert refused.headers["retry-after"] == "10"
    assert tried(site, "203.0.113.7", password=PASSWORD).status == 429  # even with the right one
    site.clock.move(10)
    tried(site, "203.0.113.7").problem(401)
    assert tried(site, "203.0.113.7").headers["retry-after"] == "20"


def test_the_true_user_is_let_in_from_another_address(site: Site) -> None:
    for _ in range(FREE + 3):
        tried(site, "203.0.113.7")
    assert tried(site, "198.51.100.2", password=PASSWORD).status == 200


def test_the_true_user_is_let_in_though_many_addresses_try(site: Site) -> None:
    for number in range(ATTACKED_FROM):
        assert site.tx(take_try, Attempt("admin", f"203.0.113.{number}"), site.clock.now()) == 0
    assert tried(site, "198.51.100.2", password=PASSWORD).status == 200
    tried(site, "203.0.113.99").problem(401)
    tried(site, "203.0.113.99").problem(429)  # one try for each, not five


def test_an_address_that_tries_many_accounts_has_to_wait(site: Site) -> None:
    for number in range(FREE_OF_ADDRESS):
        assert site.tx(take_try, Attempt(f"user-{number}", "203.0.113.7"), site.clock.now()) == 0
    tried(site, "203.0.113.7", username="one-more").problem(429)
    tried(site, "203.0.113.8", username="one-more").problem(401)


def test_an_account_that_does_not_exist_is_slowed_down_alike(site: Site) -> None:
    def told(username: str) -> list[tuple[int, bytes]]:
        answers = [tried(site, "203.0.113.7", username=username) for _ in range(FREE + 2)]
        return [(one.status, one.body) for one in answers]

    assert told("admin") == told("nobody-at-all")


def test_a_success_forgives_the_tries_before_it(site: Site) -> None:
    for _ in range(3):
        for _ in range(FREE - 1):
            tried(site, "203.0.113.7").problem(401)
        assert tried(site, "203.0.113.7", password=PASSWORD).status == 200


def test_an_address_is_what_the_proxy_saw_and_not_what_the_caller_wrote(site: Site) -> None:
    for number in range(FREE):
        tried(site, f"198.51.100.{number}, 203.0.113.7").problem(401)
    tried(site, "198.51.100.77, 203.0.113.7").problem(429)


def test_without_a_trusted_proxy_nobody_is_believed(own_site: Site) -> None:
    for number in range(FREE):
        tried(own_site, f"203.0.113.{number}").problem(401)
    tried(own_site, "203.0.113.77").problem(429)


def test_a_network_of_one_customer_counts_as_one_address(site: Site) -> None:
    for number in range(FREE):
        tried(site, f"2001:db8:1:2::{number:x}").problem(401)
    tried(site, "2001:db8:1:2:ffff::1").problem(429)
    tried(site, "2001:db8:1:3::1").problem(401)


def test_failures_are_audited_and_no_name_that_nobody_has_is_repeated(site: Site) -> None:
    tried(site, "203.0.113.7")
    tried(site, "203.0.113.7", username="my-password-by-mistake")

    def read(connection: Connection) -> list[tuple[str, str, str]]:
        found = select(audit).where(audit.c.action == "session.refuse").order_by(audit.c.seq)
        return [(row.actor_kind, row.address, row.object_id) for row in connection.execute(found)]

    assert site.tx(read) == [("stranger", "203.0.113.7", "admin"), ("stranger", "203.0.113.7", "")]
    assert "my-password-by-mistake" not in json.dumps(site.contents())


def test_links_cannot_be_tried_without_end(site: Site) -> None:
    for _ in range(FREE):
        site.stranger().post("/api/v1/auth/link", {"token": "guess"}).problem(401)
    site.stranger().post("/api/v1/auth/link", {"token": "guess"}).problem(429)


def test_a_try_that_was_not_looked_at_is_not_counted(site: Site) -> None:
    tools = site.app.state.tools
    gate = Gate(at_once=0, waiting=0)
    object.__setattr__(tools, "sign_in_gate", gate)
    for _ in range(FREE + 1):
        assert tried(site, "203.0.113.7").problem(429)["type"] == "urn:orth:problem:too-busy"
    object.__setattr__(tools, "sign_in_gate", Gate())
    tried(site, "203.0.113.7").problem(401)


@pytest.mark.usefixtures("costly_passwords")
def test_who_has_no_password_is_refused_as_slowly(site: Site) -> None:
    site.tx(add_user, "ada", "!", "admin", 0)

    def cost(username: str, address: str) -> float:
        began = time.perf_counter()
        tried(site, address, username=username).problem(401)
        return time.perf_counter() - began

    pairs = [(cost("ada", f"203.0.113.{n}"), cost("admin", f"203.0.113.{n}")) for n in range(5)]
    assert statistics.median(one for one, _ in pairs) > statistics.median(other for _, other in pairs) / 3
