"""What dispatch carries: a claimed execution addressed to an executor, and what became of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from orth.domain.executions import Execution
from orth.domain.jobs import SENT_AHEAD, GlueType, GroupDialect, Job, RouteStrategy
from orth.domain.nodes import normal_address
from orth.domain.scripts import digest_of
from orth.store.script_drafts import Draft
from orth.store.secrets import SealedSecret
from orth.wire.messages import Extension, RunRequest
from orth.wire.report_keys import ReportKeys


@dataclass(frozen=True, slots=True)
class Peer:
    """An executor as the registry describes it. One that nobody announced has neither incarnation nor extensions."""

    address: str
    app_name: str
    incarnation: str | None = None
    extensions: frozenset[str] = frozenset()
    dialect: GroupDialect = GroupDialect.AUTO
    has_own_key: bool = False
    """Whether it is asked for work with a key that only this process has."""

    @property
    def key(self) -> str:
        """Its address as everybody compares it."""
        return normal_address(self.address)

    def is_process(self, app_name: str, incarnation: str) -> bool:
        return (self.app_name, self.incarnation) == (app_name, incarnation)

    @property
    def gets_report_key(self) -> bool:
        """Whether what it says about an execution is to bring back what the trigger said."""
        ours = self.dialect in (GroupDialect.AUTO, GroupDialect.ORTH)
        return ours and Extension.REPORT_KEY in self.extensions

    @property
    def takes_batches(self) -> bool:
        ours = self.dialect in (GroupDialect.AUTO, GroupDialect.ORTH)
        return ours and Extension.BATCH_RUN in self.extensions

    @property
    def can_be_asked(self) -> bool:
        """Whether it recognises a repeated trigger, so that asking again cannot run anything twice."""
        ours = self.dialect in (GroupDialect.AUTO, GroupDialect.ORTH)
        return ours and self.incarnation is not None and Extension.RESEND in self.extensions


@dataclass(frozen=True, slots=True)
class Letter:
    """A claimed execution with what is needed to send it. ``source`` is the job whose handler or code it runs: its own,
    that of its super task, or for a test its own with the code that is tried.
    """

    execution: Execution
    job: Job
    source: Job
    peer: Peer
    epoch: int = 0
    asks: bool = False
    """Whether the executors are to be asked first: ``peer``, then the ``others``."""
    others: tuple[Peer, ...] = ()
    tried: tuple[str, ...] = ()
    """Addresses that surely did not get it."""
    secrets: tuple[SealedSecret, ...] = ()
    """Those its job names; opened only when it is sent."""

    @property
    def names_one_address(self) -> bool:
        """Whether it belongs to one executor and to no other: a shard, or an address somebody chose."""
        shard = self.job.executor_route_strategy is RouteStrategy.SHARDING_BROADCAST or self.execution.shard_total > 1
        return shard or len(self.execution.addresses) == 1


@dataclass(frozen=True, slots=True)
class Offer:
    """A claimed execution for a queue, as it is called on the wire: whoever takes it has it."""

    letter: Letter
    queue: str
    priority: int
    sending: int
    """The instant of the claim, or more: a later offer of the same execution has a higher one."""


def queue_on_wire(app_name: str, queue: str) -> str:
    """A queue as everybody calls it: two applications may use the same word."""
    return f"{app_name}.{queue}"


class Outcome(Enum):
    """What is known after a letter was sent, or was not."""

    TAKEN = "the executor has it"
    REFUSED = "the executor answered and does not have it"
    NOT_SENT = "no connection: the executor surely does not have it"
    DECLINED = "the executor takes no work now: it surely does not have it, and another may take it"
    WITHDRAWN = "never tried: its executor failed too often meanwhile"
    UNKNOWN = "the executor may have it"
    NOBODY = "nobody who was asked would do"


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a letter. ``code`` is a reason, unless it was taken."""

    letter: Letter
    outcome: Outcome
    message: str
    code: str = ""


def drafted(job: Job, draft: Draft) -> Job:
    """``job`` as a test runs it."""
    return replace(job, glue_type=draft.glue_type, glue_source=draft.source, glue_updatetime=draft.made_at)


def may_be_held(job: Job, peer: Peer) -> bool:
    """Whether the executor would hold the trigger until it may start, so that it may be sent ahead of time."""
    ours = peer.dialect in (GroupDialect.AUTO, GroupDialect.ORTH)
    return ours and Extension.NOT_BEFORE in peer.extensions and job.executor_block_strategy in SENT_AHEAD


TickAt = Callable[[Peer, int], int | None]
"""What the tick of an executor shows when so many milliseconds have surely passed; None when that is not known."""


def run_request(letter: Letter, now: int, tick_at: TickAt, report_keys: ReportKeys, *, again: bool) -> RunRequest:
    """The trigger. ``again``: it may have arrived before, so only the same process may take it.

    What is repeated before its time says so also to a process that may not hold it: then it is not sent, and the doubt
    stays until it may start.
    """
    execution, job, source, peer = letter.execution, letter.job, letter.source, letter.peer
    proven = source.glue_type is not GlueType.BEAN and Extension.SOURCE_DIGEST in peer.extensions
    ahead = (execution.not_before or 0) - now
    waits = ahead > 0 and may_be_held(job, peer)
    tick = tick_at(peer, ahead) if waits and Extension.TICKS in peer.extensions else None
    named = Extension.RUN_KEY in peer.extensions
    return RunRequest(
        job_id=job.id,
        executor_handler=execution.executor_handler,
        executor_params=execution.executor_param,
        executor_block_strategy=job.executor_block_strategy,
        executor_timeout=job.executor_timeout,
        executor_concurrency=job.executor_concurrency,
        log_id=execution.id,
        log_date_time=execution.trigger_time,
        glue_type=source.glue_type,
        glue_source=source.glue_source,
        glue_updatetime=source.glue_updatetime,
        broadcast_index=execution.shard_index,
        broadcast_total=execution.shard_total,
        schedule_time=execution.schedule_time,
        resend_to=peer.incarnation if again else None,
        start_in=ahead if waits or (again and ahead > 0) else None,
        start_tick=tick,
        tick_of=None if tick is None else peer.incarnation,
        app_name=peer.app_name if Extension.APP_NAME in peer.extensions else None,
        source_digest=digest_of(source.glue_source) if proven else None,
        draft=True if execution.is_test else None,
        report_key=report_keys.key_of(execution.id, execution.trigger_time) if peer.gets_report_key else None,
        run_key=execution.run_key if named else None,
        attempt=execution.attempt if named else None,
        job_name=job.job_desc if named else None,
        log_level=execution.log_level if Extension.LOG_LEVEL in peer.extensions else None,
        overlap=job.overlap if Extension.OVERLAP in peer.extensions and not execution.is_test else None,
    )
