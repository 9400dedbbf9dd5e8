"""What must not start yet goes only to executors that hold it."""

from dataclasses import replace

import pytest

from orth.coordinator.claiming import Outlook
from orth.coordinator.letters import Letter, Peer, run_request
from orth.coordinator.planning import PlannedRun
from orth.coordinator.settling import Office, claim
from orth.coordinator.triggering import open_planned
from orth.domain.jobs import RouteStrategy, TriggerCause
from orth.errors import Invalid
from orth.store.database import Connection, open_database
from orth.store.dispatching import take_ahead
from orth.store.groups import create_group
from orth.store.jobs import create_job
from orth.store.registry import Beat, record_beats
from orth.testing.stores import prepare_store
from orth.wire.dialects import Dialect, run_body
from orth.wire.messages import Extension
from orth.wire.report_keys import ReportKeys
from tests.store.builders import NOW, a_due_job, a_group

FIRE = NOW + 2_000
OURS, FOREIGN, ALSO_OURS = "http://10.0.0.1:9999", "http://10.0.0.2:9999", "http://10.0.0.3:9999"
HOLDS = frozenset({str(Extension.NOT_BEFORE), str(Extension.RESEND)})


def _claimed(connection: Connection) -> list[Letter]:
    group = create_group(connection, a_group(), NOW)
    beats = [
        Beat("reports", OURS, "one", HOLDS),
        Beat("reports", FOREIGN, None),
        Beat("reports", ALSO_OURS, "three", HOLDS),
    ]
    record_beats(connection, beats, NOW)
    job = a_due_job(group, FIRE, executor_route_strategy=RouteStrategy.FAILOVER)
    job = replace(job, id=create_job(connection, job, NOW))
    open_planned(connection, [(job, PlannedRun(FIRE, TriggerCause.FIXED_RATE, FIRE, FIRE))], NOW)
    office = Office("node", 1, 60_000, Outlook(tuple, lambda _count: 0))
    return claim(connection, take_ahead(connection, NOW, 0, 9), office, NOW).letters


async def test_whoever_is_asked_instead_holds_it_as_well(sqlite_url: str) -> None:
    prepare_store(sqlite_url)
    with open_database(sqlite_url) as db:
        (letter,) = await db.tx(_claimed)
    assert letter.peer.address == OURS
    assert [other.address for other in letter.others] == [ALSO_OURS]


@pytest.mark.parametrize(("ahead", "sent"), [(2_000, False), (0, True)])
async def test_a_repetition_is_kept_back_from_who_would_start_it_at_once(
    sqlite_url: str, ahead: int, sent: bool
) -> None:
    prepare_store(sqlite_url)
    with open_database(sqlite_url) as db:
        (letter,) = await db.tx(_claimed)
    has_left = Peer(OURS, "reports", "one", frozenset({str(Extension.RESEND)}))
    letter, keys = replace(letter, peer=has_left), ReportKeys("secret")
    request = run_request(letter, FIRE - ahead, lambda _peer, _ahead: None, keys, again=True)
    if sent:
        run_body(request, Dialect.ORTH, has_left.extensions)
    else:
        with pytest.raises(Invalid, match="start it at once"):
            run_body(request, Dialect.ORTH, has_left.extensions)
