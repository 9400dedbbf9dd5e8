"""Where a log is, for those who find none."""

from pathlib import Path

from orth.settings import Settings
from orth.settings.sections import LogsSection
from orth.store.log_archives import ArchivedLog, keep_archive
from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.scrolls import EXECUTIONS, end, taken_by

ADDRESS = "http://10.66.0.7:9999"  # an address no other test registers: the site is shared, and remembers who beat
REGISTERED = "http://10.0.0.8:9999"


def test_an_open_execution_is_with_its_executor(site: Site, admin: Caller) -> None:
    site.executor().post(
        "/api/registry", {"registryGroup": "EXECUTOR", "registryKey": "demo", "registryValue": REGISTERED}
    )
    execution_id = taken_by(site, REGISTERED)
    assert admin.get(f"{EXECUTIONS}/{execution_id}/log/place").json == {
        "executor_address": REGISTERED,
        "executor_seen": "2026-01-30T10:00:00.000Z",
        "archived": "no",
        "archived_at": None,
        "archiving": False,
        "kept_until": None,
    }


def test_what_nobody_took_is_nowhere(site: Site, admin: Caller) -> None:
    found = admin.get(f"{EXECUTIONS}/{site.execution(site.job())}/log/place").json
    assert (found["executor_address"], found["executor_seen"], found["archived"]) == (None, None, "no")


def test_a_copy_is_whole_or_not_and_outlives_its_executor(site: Site, admin: Caller) -> None:
    execution_id = taken_by(site, ADDRESS)
    end(site, execution_id)
    for complete, said in ((False, "part"), (True, "whole")):
        kept = ArchivedLog(
            execution_id=execution_id, stored_at=site.clock.now(), lines=1, size=1, complete=complete, place=None
        )
        site.tx(keep_archive, kept, b"")
        found = admin.get(f"{EXECUTIONS}/{execution_id}/log/place").json
        assert (found["archived"], found["archived_at"]) == (said, "2026-01-30T10:00:00.000Z")
        assert (found["executor_seen"], found["kept_until"]) == (None, "2026-03-01T10:00:00.000Z")


def test_it_says_whether_logs_are_archived(prepared: Path, tmp_path: Path) -> None:
    database = tmp_path / "orth.db"
    database.write_bytes(prepared.read_bytes())
    with Site(database, Settings(logs=LogsSection(archive="store"))) as site:
        found = site.admin().get(f"{EXECUTIONS}/{site.execution(site.job())}/log/place").json
    assert found["archiving"] is True
