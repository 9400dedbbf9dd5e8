"""The nine public names, letter for letter."""

import inspect
from pathlib import Path

import orth
from orth.channels.names import Names

SOURCES = Path(orth.__file__).parent


def test_the_nine_channels_bear_their_names() -> None:
    names = Names()
    assert names.dispatch("reports.default") == "orchestrix.job.dispatch.reports.default"
    assert names.cancel == "orchestrix.job.cancel"
    assert names.assigned == "orchestrix.job.assigned"
    assert names.status(7, 1001) == "orchestrix.job.7.status.1001"
    assert names.logs(7, 1001) == "orchestrix.job.7.logs.1001"
    assert names.handoff == "orchestrix.job.handoff"
    assert names.handoff_ack("node-1") == "orchestrix.job.handoff.ack.node-1"
    assert names.worker_heartbeat == "orchestrix.worker.heartbeat"
    assert names.coordinator_heartbeat == "orchestrix.coordinator.heartbeat"


def test_priorities_are_lines_of_one_queue_the_highest_first() -> None:
    line = "x.job.dispatch.reports.default"
    assert Names("x").dispatch_lines("reports.default") == [f"{line}.p3", f"{line}.p2", line, f"{line}.p0"]


def test_the_longest_names_fit() -> None:
    names = Names("p" * 32)
    longest = [
        *names.dispatch_lines(f"{'a' * 64}.{'q' * 64}"),
        names.handoff_ack("n" * 64),
        names.acknowledged("i" * 64),
    ]
    assert max(map(len, [*longest, names.logs(2**63, 2**63), f"{longest[0]}.dead"])) <= 255


def test_the_prefix_begins_every_name() -> None:
    names = Names("x")
    for member, kind in inspect.getmembers(Names):
        if member.startswith("_") or member == "prefix":
            continue
        if isinstance(kind, property):
            found = getattr(names, member)
        else:
            found = getattr(names, member)(*["7" for one in inspect.signature(kind).parameters if one not in _OPTIONAL])
        for name in [found] if isinstance(found, str) else found:
            assert name.startswith("x."), member
            assert "orchestrix" not in name


_OPTIONAL = ("self", "priority")


def test_the_default_prefix_is_nowhere_but_where_it_can_be_set() -> None:
    """A name that is written out would not follow the setting."""
    found = {
        str(file.relative_to(SOURCES)): text.count("orchestrix")
        for file in SOURCES.rglob("*.py")
        if "orchestrix" in (text := file.read_text())
    }
    assert found == {
        "channels/names.py": 1,
        "channels/opening.py": 1,
        "channels/redis.py": 1,
        "executor/settings.py": 1,
        "settings/sections.py": 1,
        "store/leases.py": 1,  # a row of the database, which has one cluster
    }
