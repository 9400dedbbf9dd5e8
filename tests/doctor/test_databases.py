from pathlib import Path

from orth.clock import SystemClock
from orth.cluster.alone import AliveLocks
from orth.doctor import Case, State
from orth.doctor.databases import look_at_store
from orth.store.migrating import known_versions, upgrade
from tests.doctor.places import case_of, only


def looking_at(url: str) -> Case:
    return case_of({"store": {"url": url}})


def test_a_store_before_and_after_its_upgrade(store_url: str, tmp_path: Path) -> None:
    if store_url.startswith("sqlite"):
        assert "no SQLite file yet" in only(look_at_store(looking_at(store_url), ""), State.OK).what
        assert not (tmp_path / "orth.db").exists()
        (tmp_path / "orth.db").touch()
    verdict = only(look_at_store(looking_at(store_url), ""), State.BAD)
    assert verdict.next == "Run: orth db upgrade"
    upgrade(store_url)
    verdict = look_at_store(looking_at(store_url), "")[-1]
    assert f"has the schema {known_versions()[-1]}" in verdict.what


def test_a_server_that_is_not_there(free_port: int) -> None:
    case = looking_at(f"postgresql://orth:the-password@127.0.0.1:{free_port}/orth")
    verdict = only(look_at_store(case, ""), State.BAD)
    assert verdict.what == f"The database cannot be used: 127.0.0.1:{free_port} refused the connection."
    assert "the-password" not in case.hide(verdict.what)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "orth.db").write_text("not a database, but long enough to be asked for one" * 50)
    verdict = only(look_at_store(looking_at(f"sqlite:///{tmp_path}/orth.db"), ""), State.BAD)
    assert "not a database" in verdict.what


def test_a_sqlite_file_that_several_coordinators_share(sqlite_url: str) -> None:
    upgrade(sqlite_url)
    database = Path(sqlite_url.removeprefix("sqlite:///"))
    nodes = [AliveLocks(database), AliveLocks(database)]
    nodes[0].hold("node-1")
    only(look_at_store(looking_at(sqlite_url), ""), State.OK)
    nodes[1].hold("node-2")
    verdict = only(look_at_store(looking_at(sqlite_url), ""), State.WARN)
    assert "2 coordinators share the SQLite file" in verdict.what
    for node in nodes:
        node.release()
    only(look_at_store(looking_at(sqlite_url), ""), State.OK)


def test_a_slow_store(sqlite_url: str) -> None:
    upgrade(sqlite_url)

    class Slow(SystemClock):
        ticks = 0

        def monotonic(self) -> float:
            self.ticks += 1
            return 0.2 * self.ticks

    case = case_of({"store": {"url": sqlite_url}}, clock=Slow())
    assert "takes" in only(look_at_store(case, ""), State.WARN).what
