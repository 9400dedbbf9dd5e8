"""The public names of the channels. ``prefix`` keeps clusters apart that share a Redis."""

from dataclasses import dataclass

WAITING_LINES = 4
"""Priorities of a dispatch queue; each is a queue of its own, the highest is taken from first."""


@dataclass(frozen=True, slots=True)
class Names:
    """What each channel is called."""

    prefix: str = "orchestrix"

    def dispatch(self, queue: str, priority: int = 1) -> str:
        """Queue: executions for the executors of ``queue``, which is ``{app name}.{queue name}``.

        Priority 1 bears the plain name; the others add ``.p0``, ``.p2`` and ``.p3``.
        """
        name = f"{self.prefix}.job.dispatch.{queue}"
        return name if priority == 1 else f"{name}.p{priority}"

    def dispatch_lines(self, queue: str) -> list[str]:
        """The queues of all priorities, highest first."""
        return [self.dispatch(queue, priority) for priority in reversed(range(WAITING_LINES))]

    @property
    def cancel(self) -> str:
        """Topic: executions to be ended; every executor must hear it."""
        return f"{self.prefix}.job.cancel"

    @property
    def logs_wanted(self) -> str:
        """Topic: logs of which something did not arrive; the executor that has one sends it again."""
        return f"{self.prefix}.job.logs.wanted"

    @property
    def assigned(self) -> str:
        """Queue: dispatched executions that want an owner."""
        return f"{self.prefix}.job.assigned"

    def status(self, job_id: int, execution_id: int) -> str:
        """Box: what an executor says of an execution. The channel is the job's, with a box for each execution: two of
        one job may have different owners.
        """
        return f"{self.prefix}.job.{job_id}.status.{execution_id}"

    def logs(self, job_id: int, execution_id: int) -> str:
        """Box: what an execution writes."""
        return f"{self.prefix}.job.{job_id}.logs.{execution_id}"

    def acknowledged(self, incarnation: str) -> str:
        """Box: results of this executor process that are stored, so that it may forget them."""
        return f"{self.prefix}.worker.{incarnation}.acknowledged"

    @property
    def handoff(self) -> str:
        """Queue: executions whose owner leaves, or is gone."""
        return f"{self.prefix}.job.handoff"

    def handoff_ack(self, node_id: str) -> str:
        """Topic: executions of this node that others have taken."""
        return f"{self.prefix}.job.handoff.ack.{node_id}"

    @property
    def worker_heartbeat(self) -> str:
        """Topic: executors of queues say that they live."""
        return f"{self.prefix}.worker.heartbeat"

    @property
    def coordinator_heartbeat(self) -> str:
        """Topic: coordinators say that they live."""
        return f"{self.prefix}.coordinator.heartbeat"

    @property
    def service_events(self) -> str:
        """Topic: something has changed in the registry of services."""
        return f"{self.prefix}.service.events"
