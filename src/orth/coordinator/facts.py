"""What is told about jobs and executions."""

import logging
from dataclasses import dataclass
from enum import StrEnum

from orth.domain.app_names import RENAME
from orth.domain.executions import Status
from orth.domain.jobs import TriggerCause
from orth.events import Event


@dataclass(frozen=True, slots=True)
class JobsPlanned(Event):
    """A planning pass found something due."""

    level = logging.DEBUG
    sentence = "planned {jobs} jobs: {runs} executions opened, {skipped} decisions not to run"
    jobs: int
    runs: int
    skipped: int
    lateness: tuple[float, ...] = ()
    """Seconds each run was stored after it was due; 0 for those that are not due yet."""


@dataclass(frozen=True, slots=True)
class ClockStepped(Event):
    """Between two planning passes the wall clock went another way than time did: somebody set it."""

    level = logging.WARNING
    sentence = "the wall clock of this machine was set by {seconds:+.1f} s"
    seconds: float
    """Forward, or back where it is negative."""


@dataclass(frozen=True, slots=True)
class FiresMissed(Event):
    """A planning pass came later than the misfire threshold; how many fires met which fate."""

    sentence = "missed fires: {run} run late, {coalesced} made up for by those, {skipped} skipped"
    run: int
    coalesced: int
    skipped: int


@dataclass(frozen=True, slots=True)
class ExecutionsOpened(Event):
    """Executions were stored; dispatch finds them."""

    level = logging.DEBUG
    sentence = "{count} executions opened ({cause})"
    cause: TriggerCause
    count: int


@dataclass(frozen=True, slots=True)
class JobQuarantined(Event):
    """A job that cannot be read, or whose schedule cannot be computed, was stopped so that the others go on."""

    level = logging.ERROR
    sentence = "job {job_id} was stopped, it cannot be planned: {reason}"
    job_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class RowUnreadable(Event):
    """A row holds what this version does not know: a newer one wrote it, or a hand did. The others go on."""

    level = logging.ERROR
    sentence = "{what} cannot be read and is left alone: {reason}"
    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class RowsPurged(Event):
    """What is older than the settings keep it has been removed, as far as one pass goes."""

    sentence = "{rows} old rows removed: {what}"
    what: str
    rows: int


@dataclass(frozen=True, slots=True)
class ExecutionDispatched(Event):
    level = logging.DEBUG
    sentence = "execution {execution_id} of job {job_id} taken by {address}"
    execution_id: int
    job_id: int
    address: str


@dataclass(frozen=True, slots=True)
class ExecutionRecalled(Event):
    """An executor was asked to drop what had been sent to it ahead of time."""

    level = logging.INFO
    sentence = "execution {execution_id} of job {job_id} recalled from {address} ({reason})"
    execution_id: int
    job_id: int
    address: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExecutionsReopened(Event):
    """A process died with triggers it held until their time; they are sent again."""

    level = logging.WARNING
    sentence = "{count} executions that {address} held and did not start are sent again: {reason}"
    address: str
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class ExecutionsOffered(Event):
    """Executions were put into a queue."""

    level = logging.DEBUG
    sentence = "{count} executions offered in {queue}"
    queue: str
    count: int


@dataclass(frozen=True, slots=True)
class ExecutionsTaken(Event):
    """Executors have begun with what they took from queues, as its owner reads."""

    level = logging.DEBUG
    sentence = "{count} executions were taken from queues"
    count: int


@dataclass(frozen=True, slots=True)
class OfferImpossible(Event):
    """An execution does not go into a queue: its message is too large, or its name. It fails when its bound is over."""

    level = logging.ERROR
    sentence = "execution {execution_id} cannot be offered in {queue}: {reason}"
    execution_id: int
    queue: str
    reason: str


@dataclass(frozen=True, slots=True)
class OffersRepeated(Event):
    """What was in a queue is gone and nobody has it: it was put there again."""

    level = logging.WARNING
    sentence = "{count} executions were missing from {queue} and are offered again"
    queue: str
    count: int


@dataclass(frozen=True, slots=True)
class OffersReclaimed(Event):
    """An executor that is gone had messages in hand: others get them."""

    level = logging.WARNING
    sentence = "{count} messages that {consumer} had taken from {queue} go to others: it is gone"
    queue: str
    consumer: str
    count: int


@dataclass(frozen=True, slots=True)
class QueuesAway(Event):
    """Nothing can be put into queues."""

    level = logging.WARNING
    sentence = "queues cannot be reached, their executions wait: {reason}"
    reason: str


@dataclass(frozen=True, slots=True)
class QueuesBack(Event):
    sentence = "queues can be reached again"


@dataclass(frozen=True, slots=True)
class MessageUnreadable(Event):
    """Something on a channel is not what should be there."""

    level = logging.WARNING
    sentence = "a message on {channel} cannot be read and is passed over: {reason}"
    channel: str
    reason: str


@dataclass(frozen=True, slots=True)
class AnswersUndelivered(Event):
    """Results are stored and their executors could not be told so over the channels; they ask over HTTP."""

    level = logging.WARNING
    sentence = "{count} answers to results could not be posted: {reason}"
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class DispatchesAnswered(Event):
    """What came back for executions that were sent is stored."""

    level = logging.DEBUG
    sentence = "{count} dispatches ended: {outcome}"
    outcome: str
    count: int


@dataclass(frozen=True, slots=True)
class DispatchUnknown(Event):
    """Nobody knows whether the executor has it; it will be asked."""

    level = logging.WARNING
    sentence = "execution {execution_id}: no answer from {address} ({reason}); it will be asked again"
    execution_id: int
    address: str
    reason: str


@dataclass(frozen=True, slots=True)
class DispatchesDoubted(Event):
    """A new term found dispatches of an earlier one without a stored answer."""

    level = logging.WARNING
    sentence = "{count} dispatches of an earlier term have no stored answer; their executors will be asked"
    count: int


@dataclass(frozen=True, slots=True)
class ExecutionRerouted(Event):
    """The first address was surely not reached, so another one was chosen."""

    sentence = "execution {execution_id} goes to {address} instead: {reason}"
    execution_id: int
    address: str
    reason: str


@dataclass(frozen=True, slots=True)
class CircuitOpened(Event):
    """Triggers do not get through to an executor: it gets none for a while."""

    level = logging.WARNING
    sentence = "{address} is left alone for a while after {failures} failures in a row: {reason}"
    address: str
    failures: int
    reason: str


@dataclass(frozen=True, slots=True)
class CircuitClosed(Event):
    sentence = "{address} takes triggers again"
    address: str


@dataclass(frozen=True, slots=True)
class ExecutionFinished(Event):
    execution_id: int
    job_id: int
    job_desc: str
    tag: str
    seconds: float
    address: str | None
    reason: str
    status: Status
    cancelled: bool = False

    def __str__(self) -> str:
        because = f"  ({self.reason})" if self.reason else ""
        return (
            f"{self.job_desc}  #{self.execution_id}  {self.tag}  {self.seconds:.1f} s  {self.address or '-'}{because}"
        )


@dataclass(frozen=True, slots=True)
class BatchEnded(Event):
    """A batch opens nothing more: done, or cancelled with the reason."""

    batch_id: int
    job_id: int
    state: str
    opened: int
    reason: str

    def __str__(self) -> str:
        because = f": {self.reason}" if self.reason else ""
        return f"batch {self.batch_id} of job {self.job_id} {self.state}, {self.opened} opened{because}"


@dataclass(frozen=True, slots=True)
class ExecutorJoined(Event):
    sentence = "executor {address} joined {app_name}"
    app_name: str
    address: str


@dataclass(frozen=True, slots=True)
class ExecutorEnrolled(Event):
    """An executor that was not known before gave its key."""

    level = logging.WARNING
    sentence = "executor {executor} of {app_name}, which says that it is at {address}, enrolled: {state}"
    app_name: str
    address: str
    executor: int
    state: str


@dataclass(frozen=True, slots=True)
class AppNameUnusable(Event):
    """Executors registered under a name that no group can have. Told once for each name."""

    level = logging.WARNING
    sentence = (
        "executor {address} registered as {app_name!r} and gets no work, for no group can be called so. {reason} "
        + RENAME
    )
    app_name: str
    address: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExecutorLeft(Event):
    sentence = "executor {address} left {app_name}: {reason}"
    app_name: str
    address: str
    reason: str
    silent: bool = False
    """Whether it was removed for its silence; otherwise it said good-bye."""


class RefusalCause(StrEnum):
    """Why a beat or a good-bye was refused."""

    TOKEN = "token"  # noqa: S105  # a word, not a secret
    MALFORMED = "malformed"
    STORE = "store"
    BUSY = "busy"
    CONTESTED = "contested"  # the address has another process, with a work key
    FULL = "full"  # the app has as many executors as it may have
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class RegistrationRefused(Event):
    """A call to the registry was refused. Who called is not told: without the token it may be anybody."""

    level = logging.DEBUG
    sentence = "a call to the registry was refused: {cause}"
    cause: RefusalCause


@dataclass(frozen=True, slots=True)
class AppFull(Event):
    """An app has as many executors as it may have, and more want to register. Told once a minute for each app."""

    level = logging.WARNING
    sentence = "the app {app_name!r} has {limit} executors and may have no more: {address} is not registered"
    app_name: str
    address: str
    limit: int


@dataclass(frozen=True, slots=True)
class ExecutorRestarted(Event):
    """Another process answers at a known address: what the earlier one had in memory is gone."""

    sentence = "executor {address} of {app_name} was restarted: {earlier} became {incarnation}"
    app_name: str
    address: str
    earlier: str
    incarnation: str


@dataclass(frozen=True, slots=True)
class AddressContested(Event):
    """Two processes that live say that they have one address: a mistake, or somebody with the token of the app."""

    level = logging.WARNING
    sentence = "executor {address} of {app_name} is claimed by another process than {incarnation}, which beats too"
    app_name: str
    address: str
    incarnation: str


@dataclass(frozen=True, slots=True)
class ClaimRefused(Event):
    """Somebody with the token of the app, and without the work key of the executor at an address, spoke for it."""

    level = logging.WARNING
    sentence = "a {claim} for the executor {address} of {app_name} was refused: its process has another work key"
    app_name: str
    address: str
    claim: str


@dataclass(frozen=True, slots=True)
class ExecutorSuspected(Event):
    """A call failed. Routing avoids the address until a probe or a beat clears it."""

    level = logging.WARNING
    sentence = "{address} is suspect: {reason}"
    address: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExecutorUnreachable(Event):
    """A probe has confirmed a suspicion."""

    level = logging.WARNING
    sentence = "{address} cannot be reached: {reason}"
    address: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExecutorReachable(Event):
    """A suspicion is cleared."""

    sentence = "{address} can be reached again"
    address: str


@dataclass(frozen=True, slots=True)
class EndsConfirmed(Event):
    """Executions that had ended here are known to have ended at their executors too; their jobs."""

    level = logging.DEBUG
    sentence = "jobs {job_ids}: executions that had ended here have ended at their executors too"
    job_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StrayResults(Event):
    """Results for executions that do not exist or had ended, or that cannot be read; of one kind."""

    level = logging.WARNING
    sentence = "{count} results were not applied: {verdict}"
    count: int
    verdict: str


@dataclass(frozen=True, slots=True)
class CoordinatorReady(Event):
    sentence = "{node} serves on {url} (store {store})"
    node: str
    url: str
    store: str


@dataclass(frozen=True, slots=True)
class CoordinatorStopped(Event):
    sentence = "{node} stopped"
    node: str
