"""What monitoring reads about services."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from orth.coordinator.services.facts import Drop, ListenerDropped
from orth.domain.services import ServiceKind, ServiceStatus
from orth.errors import NotFound
from orth.executor.handlers import Handlers
from orth.testing import Cluster

A, O = ServiceKind.AGENT, ServiceKind.ORCHESTRATOR  # noqa: E741


async def test_services_are_counted(tmp_path: Path) -> None:
    async with Cluster(tmp_path, Handlers("tests"), executors=0) as cluster:
        coordinator = cluster.coordinators[0]
        registrar = coordinator.services.registrar
        agent = await registrar.register(A, "http://a:1", incarnation="one")
        await registrar.register(A, "http://a:1", incarnation="one")
        await registrar.register(O, "http://b:1")
        await registrar.report(A, agent, ServiceStatus.BUSY)
        await registrar.beat(A, agent)
        with pytest.raises(NotFound):
            await registrar.beat(A, "0" * 32)
        cluster.events.emit(ListenerDropped("admin", Drop.SLOW))
        await cluster.advance(seconds=70)
        await registrar.beat(A, agent)
        await cluster.advance(seconds=70)
        samples = {
            (one.name, *one.labels.values()): one.value
            for family in text_string_to_metric_families((await coordinator.metrics.text()).decode())
            for one in family.samples
        }
    assert samples["orth_services", "agent", "busy"] == 1
    assert samples["orth_services", "orchestrator", "failed"] == 1
    assert samples["orth_services", "agent", "failed"] == 0
    assert ("orth_services", "agent", "running") not in samples
    assert samples["orth_services_registered_total", "agent"] == 1
    assert samples["orth_services_registered_total", "orchestrator"] == 1
    assert samples["orth_services_beats_total",] == 2
    assert samples["orth_services_beats_failed_total", "unknown"] == 1
    assert samples["orth_services_failed_total", "silence"] == 1
    assert samples["orth_live_dropped_total", "slow"] == 1
    assert samples["orth_live_listeners",] == 0
