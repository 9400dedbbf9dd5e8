"""Every accepted trigger ends in exactly one result, whatever happens to its job; every refused one in none."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from orth.executor.facts import ExecutionFinished
from orth.executor.handlers import Handlers
from orth.wire.messages import KillRequest
from tests.executor.bench import Rig, eventually
from tests.executor.gates import Gates

JOBS = (1, 2)
HANDLERS = ("patient", "polite", "deaf")
STRATEGIES = ("SERIAL_EXECUTION", "DISCARD_LATER", "COVER_EARLY", "CONCURRENT")
BATCH = 3
LOG_IDS = st.integers(1, 30)  # drawn without a look at what happened: threads are not repeatable


class OneResult(RuleBasedStateMachine):
    """Two jobs of one executor: real threads, real files, handlers that end when they are told, or will not end."""

    @initialize()
    def begin(self) -> None:
        self.directory = Path(tempfile.mkdtemp())
        app = Handlers("rig-app")
        self.gates = Gates(app)
        self.ran = Rig(app, self.directory, kill_grace=0.02, abandoned_hold=0.05)
        self.accepted: list[int] = []
        self.refused: list[int] = []
        self.jobs: dict[int, int] = {}
        """Of which job each is."""
        self.next_id = 1
        self.stopped = False

    def _take(self, log_id: int, ok: bool) -> None:
        (self.accepted if ok else self.refused).append(log_id)

    @rule(
        job_id=st.sampled_from(JOBS),
        handler=st.sampled_from(HANDLERS),
        strategy=st.sampled_from(STRATEGIES),
        concurrency=st.integers(0, 3),
    )
    def run_one(self, job_id: int, handler: str, strategy: str, concurrency: int) -> None:
        how = {"executor_block_strategy": strategy, "executor_concurrency": concurrency}
        log_id, self.next_id = self.next_id, self.next_id + 1
        self.jobs[log_id] = job_id
        self._take(log_id, self.ran.run(log_id, handler, job_id=job_id, **how).ok)

    @rule(job_id=st.sampled_from(JOBS), strategy=st.sampled_from(STRATEGIES))
    def run_many(self, job_id: int, strategy: str) -> None:
        for _ in range(BATCH):
            self.run_one(job_id, "patient", strategy, BATCH)

    @rule(log_id=LOG_IDS)
    def repeat(self, log_id: int) -> None:
        """A request whose answer was lost comes again, and is known."""
        if log_id in self.accepted:
            assert self.ran.run(log_id, "patient", job_id=self.jobs[log_id]).ok

    @rule(log_id=LOG_IDS)
    def finish(self, log_id: int) -> None:
        self.gates.let(log_id)

    @rule(job_id=st.sampled_from(JOBS))
    def kill_job(self, job_id: int) -> None:
        assert self.ran.runtime.admission.kill(KillRequest(job_id=job_id)).ok

    @rule(job_id=st.sampled_from(JOBS), log_id=LOG_IDS)
    def kill_one(self, job_id: int, log_id: int) -> None:
        assert self.ran.runtime.admission.kill(KillRequest(job_id=job_id, log_id=log_id)).ok

    @rule()
    def retire(self) -> None:
        self.ran.runtime.threads.retire_idle(0)

    @precondition(lambda self: not self.stopped)
    @rule(seconds=st.sampled_from([0.0, 0.02]))
    def stop(self, seconds: float) -> None:
        self.stopped = True
        self.ran.runtime.admission.close()
        self.ran.runtime.threads.drain(seconds)

    def _results(self) -> list[int]:
        return [told.log_id for told in self.ran.ears.of(ExecutionFinished)]

    @invariant()
    def nothing_is_reported_twice_or_unasked(self) -> None:
        results = self._results()
        assert len(results) == len(set(results))
        assert set(results) <= set(self.accepted)

    def teardown(self) -> None:
        try:
            self.gates.let(*self.accepted)
            eventually(lambda: not self.ran.runtime.tools.abandoned)
            for job_id in JOBS:  # nobody turns the clock of what is held; what was left behind is gone by now
                assert self.ran.runtime.threads.left_behind(job_id) == []
            assert self.ran.runtime.join_idle(10), self.ran.runtime.threads.open_ids()
            results = self._results()
            assert sorted(item.log_id for item in self.ran.runtime.outbox.waiting()) == sorted(results)
            assert sorted(results) == sorted(self.accepted)
            assert not set(results) & set(self.refused)
            assert sorted(self.gates.begun) == sorted(set(self.gates.begun)), "something ran twice"
            assert set(self.gates.begun) <= set(self.accepted)
        finally:
            self.ran.runtime.close()
            shutil.rmtree(self.directory, ignore_errors=True)


TestOneResult = OneResult.TestCase
TestOneResult.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
