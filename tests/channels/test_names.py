"""The nine public names, letter for letter."""

from orth.channels.names import Names


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
