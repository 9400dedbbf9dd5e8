"""What an executor tells: every noteworthy fact of its walk, as the log, the metrics and the tests hear it."""

import logging
from dataclasses import dataclass

from orth.events import Event

# --- the process -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExecutorStarted(Event):
    """The process listens and is about to register."""

    sentence = "executor {app_name} listens at {address} with {handlers} handlers (incarnation {incarnation})"
    app_name: str
    address: str
    handlers: int
    incarnation: str


@dataclass(frozen=True, slots=True)
class ScheduleNotAnnounced(Event):
    """A handler proposes a schedule that no job can have; the other handlers are not affected."""

    level = logging.ERROR
    sentence = "{mistake}"
    mistake: str


@dataclass(frozen=True, slots=True)
class ScriptsAsRoot(Event):
    """Whoever may edit a script here is root on this machine."""

    level = logging.WARNING
    sentence = (
        "scripts ({kinds}) run as root here, and can read all that this executor can, its token included: "
        "set executor.script_user, one for each group on this machine, or start the executor as another user"
    )
    kinds: str


@dataclass(frozen=True, slots=True)
class AnnouncementShortened(Event):
    """Handlers together say more of themselves than a registration has room for."""

    level = logging.WARNING
    sentence = (
        "the parameters of {count} handlers are not announced, because a registration has no room for them: {names}; "
        "they run as ever, and the console has a plain field for their parameters"
    )
    count: int
    names: str


@dataclass(frozen=True, slots=True)
class ExecutorStopped(Event):
    """The process has drained, as far as it was given time to."""

    sentence = "executor {app_name} stopped: {cut_short} executions cut short, {undelivered} results not yet delivered"
    app_name: str
    cut_short: int
    undelivered: int


@dataclass(frozen=True, slots=True)
class Registered(Event):
    """A coordinator knows this executor: told once, and again after each time it did not."""

    sentence = "registered {address} for {app_name}"
    app_name: str
    address: str


@dataclass(frozen=True, slots=True)
class RegistrationFailed(Event):
    """No coordinator took the registration; the next try comes after ``pause`` seconds."""

    level = logging.WARNING
    sentence = "not registered: {error}; next try in {pause:.1f} s"
    error: str
    pause: float


@dataclass(frozen=True, slots=True)
class RequestFailed(Event):
    """Answering a request met a bug; the caller got a 500 and the process goes on."""

    level = logging.ERROR
    sentence = "{path} failed: {error}"
    path: str
    error: str


@dataclass(frozen=True, slots=True)
class CallerTurnedAway(Event):
    """Somebody asked for something without a good credential; told once between two beats."""

    level = logging.WARNING
    sentence = "{address} was turned away at {path}: {reason}"
    address: str
    path: str
    reason: str


# --- executions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TriggerRefused(Event):
    """A request to run something was answered no, and nothing was queued."""

    level = logging.WARNING
    sentence = "execution {log_id} of job {job_id} refused: {reason}"
    log_id: int
    job_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class ExecutionStarted(Event):
    """The handler is about to be called."""

    sentence = "execution {log_id} of job {job_id} started: {handler}"
    log_id: int
    job_id: int
    handler: str


@dataclass(frozen=True, slots=True)
class ExecutionFinished(Event):
    """The result is in the outbox."""

    sentence = "execution {log_id} of job {job_id} finished: {code} after {took:.3f} s"
    log_id: int
    job_id: int
    code: int
    took: float


@dataclass(frozen=True, slots=True)
class ExecutionAbandoned(Event):
    """A handler could not be ended: its thread goes on, unobserved."""

    level = logging.WARNING
    sentence = "execution {log_id} of job {job_id} did not end within {grace:g} s; its thread {thread} is left behind"
    log_id: int
    job_id: int
    grace: float
    thread: str


@dataclass(frozen=True, slots=True)
class AbandonedReturned(Event):
    """A handler that had been given up on returned after all, and its thread is gone."""

    sentence = "execution {log_id} of job {job_id}, left behind before, has returned"
    log_id: int
    job_id: int


@dataclass(frozen=True, slots=True)
class ThreadMissing(Event):
    """The operating system gives no more threads; what needed one waits."""

    level = logging.ERROR
    sentence = "job {job_id} waits for a thread: {error}"
    job_id: int
    error: str


@dataclass(frozen=True, slots=True)
class DestroyFailed(Event):
    """A handler's ``destroy`` raised; its thread ends all the same."""

    level = logging.WARNING
    sentence = "destroying handler {handler} failed: {error}"
    handler: str
    error: str


@dataclass(frozen=True, slots=True)
class LogUnwritable(Event):
    """The text of an execution can no longer be kept; the execution itself goes on."""

    level = logging.ERROR
    sentence = "the log of execution {log_id} cannot be written: {error}"
    log_id: int
    error: str


@dataclass(frozen=True, slots=True)
class LogsRemoved(Event):
    """Logs of a day went because they were older than the retention."""

    sentence = "{files} log files of {day} were removed"
    day: str
    files: int


@dataclass(frozen=True, slots=True)
class LogsKept(Event):
    """Old logs could not be removed; the next turn tries again."""

    level = logging.WARNING
    sentence = "old logs in {folder} cannot be removed: {error}"
    folder: str
    error: str


# --- results ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CallbacksDelivered(Event):
    """A coordinator answered for ``settled`` results; ``kept`` are to be sent again."""

    level = logging.DEBUG
    sentence = "{settled} results delivered, {kept} to be sent again, {waiting} waiting"
    settled: int
    kept: int
    waiting: int


@dataclass(frozen=True, slots=True)
class CallbacksFailed(Event):
    """No coordinator took the results; they stay in the outbox."""

    level = logging.WARNING
    sentence = "{waiting} results wait: {error}; next try in {pause:.1f} s"
    waiting: int
    error: str
    pause: float


@dataclass(frozen=True, slots=True)
class ResultShortened(Event):
    """There was no room for a long result: its middle is left out, and only its log has that."""

    level = logging.WARNING
    sentence = "the result of execution {log_id} is reported without its middle: long results fill the outbox"
    log_id: int


@dataclass(frozen=True, slots=True)
class ResultNotTaken(Event):
    """A coordinator refuses this one also when it comes alone. It is kept, and holds up no other."""

    level = logging.WARNING
    sentence = "the result of execution {log_id} is not taken: {error}; it is sent again in {pause:.1f} s, by itself"
    log_id: int
    error: str
    pause: float


@dataclass(frozen=True, slots=True)
class ResultDisowned(Event):
    """The coordinator does not know the execution, or cannot read its result: sending it again would not help."""

    level = logging.WARNING
    sentence = "the result of execution {log_id} was dropped: the coordinator says {verdict}"
    log_id: int
    verdict: str


@dataclass(frozen=True, slots=True)
class RecordQuarantined(Event):
    """Bytes in the outbox that are no record of ours; they were set aside and the rest was read."""

    level = logging.ERROR
    sentence = "{length} unreadable bytes at {offset} of {file} were set aside: {reason}"
    file: str
    offset: int
    length: int
    reason: str


@dataclass(frozen=True, slots=True)
class OutboxUnwritable(Event):
    """A result could not be made durable. It stays in memory and is sent; no work is taken until the disk recovers."""

    level = logging.ERROR
    sentence = "the outbox cannot be written: {error}"
    error: str


@dataclass(frozen=True, slots=True)
class OutboxRecovered(Event):
    """The outbox is durable again; work is accepted."""

    sentence = "the outbox is written again; {waiting} results wait"
    waiting: int


# --- queues ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DispatchUnreadable(Event):
    """A message of a dispatch queue is none; it was taken out, for nobody could read it."""

    level = logging.ERROR
    sentence = "a message of {queue} was dropped: {reason}"
    queue: str
    reason: str


@dataclass(frozen=True, slots=True)
class EntriesRefused(Event):
    """Somebody put into a channel what no coordinator has signed for executors like this one; nothing was done."""

    level = logging.WARNING
    sentence = "{count} entries of {channel} were refused ({reason}): no coordinator has signed them for this executor"
    channel: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class DispatchWithdrawn(Event):
    """Messages of executions that are over, or that another process has; they were not begun."""

    sentence = "{count} executions of {queue} were not begun: they were withdrawn, or another executor has them"
    queue: str
    count: int


@dataclass(frozen=True, slots=True)
class ExecutionsReturned(Event):
    """What was taken and had not begun is in its queue again, for this executor leaves."""

    sentence = "{count} executions that had not begun were put back into their queues"
    count: int


@dataclass(frozen=True, slots=True)
class ReportsGivenUp(Event):
    """Some boxes take nothing more while others do; the results are not touched by it."""

    level = logging.WARNING
    sentence = "{count} reports were given up: {boxes} would not take them"
    count: int
    boxes: str


@dataclass(frozen=True, slots=True)
class ResultsUnheard(Event):
    """Nobody answered on the channels for results in time; they went over HTTP."""

    level = logging.WARNING
    sentence = "{count} results had no answer on the channels within {seconds:.1f} s and went over HTTP"
    count: int
    seconds: float
