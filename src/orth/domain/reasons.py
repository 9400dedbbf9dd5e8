"""Why an execution was not sent, not taken, not run or not finished, in a word.

A code is for programs: it is stored with the ending or the note, shown by ``why`` and never changes its meaning. The
sentence beside it is for people and says what to do; it may be reworded at any time.
"""

from collections.abc import Mapping
from enum import StrEnum

NO_EXECUTOR = "no_executor"
NO_MATCHING_EXECUTOR = "no_matching_executor"
ALL_DRAINED = "all_drained"
BAD_SELECTOR = "bad_selector"
NONE_ANSWERED = "none_answered"
NONE_IDLE = "none_idle"
CIRCUIT_OPEN = "circuit_open"
CHANNELS_AWAY = "channels_away"
QUEUE_FULL = "queue_full"
NOBODY_TOOK_IT = "nobody_took_it"
OFFERED_AGAIN = "offered_again"
PEER_FULL = "peer_full"
BUSY_ELSEWHERE = "busy_elsewhere"
ASKED = "asked"
PLANNED = "planned"
HANDED_BACK = "handed_back"
NOT_SENT = "not_sent"
NO_CONNECTION = "no_connection"
REFUSED = "refused"
WRONG_DIALECT = "wrong_dialect"
TOKEN_NOT_SHOWN = "token_not_shown"  # noqa: S105  # a word for a reason
REROUTED = "rerouted"
UNKNOWN_ANSWER = "unknown_answer"
TAKEN_AFTER_ALL = "taken_after_all"
SURELY_NOT_THERE = "surely_not_there"
NEVER_RESOLVED = "never_resolved"
EXECUTOR_RESTARTED = "executor_restarted"
EXECUTOR_GONE = "executor_gone"
LEADER_CHANGED = "leader_changed"
DELETED = "deleted"
JOB_UNREADABLE = "job_unreadable"
GROUP_UNREADABLE = "group_unreadable"
ADDRESS_REFUSED = "address_refused"
EXECUTOR_LEFT = "executor_left"
SCRIPTS_OFF = "scripts_off"
SCRIPT_REFUSED = "script_refused"
NO_TEST_EXECUTOR = "no_test_executor"
NO_SECRET_EXECUTOR = "no_secret_executor"  # noqa: S105  # a word for a reason
SECRETS_NOT_QUEUED = "secrets_not_queued"
SECRET_MISSING = "secret_missing"  # noqa: S105  # a word for a reason
SUPER_TASK_MISSING = "super_task_missing"
DISCARDED = "discarded"
JOB_STOPPED = "job_stopped"
JOB_CHANGED = "job_changed"
JOB_MOVED = "job_moved"
KILLED = "killed"
GIVEN_UP = "given_up"
COVERED = "covered"
HANDLER_CHANGED = "handler_changed"
TIMED_OUT = "timed_out"
EXECUTOR_STOPPED = "executor_stopped"
EXECUTOR_FAILED = "executor_failed"
PROCESS_DIED = "process_died"
RESULT_LOST = "result_lost"
TIME_LIMIT = "time_limit"
ENDED_TOGETHER = "ended_together"
LATE_RESULT = "late_result"
RESULT_REFUSED = "result_refused"
DONE_AGAIN = "done_again"
CHILD_MISSING = "child_missing"
CHILDREN_NOT_STARTED = "children_not_started"
RESULT_TOO_LONG = "result_too_long"

EXPECTED = frozenset({DISCARDED, DELETED, JOB_STOPPED, JOB_CHANGED, KILLED})
"""Somebody wanted it so, or the job said itself that this may happen: nobody is told, and no job fails by it."""

LOOKED_AT_AGAIN = frozenset({NO_EXECUTOR, CIRCUIT_OPEN, CHANNELS_AWAY, QUEUE_FULL, PEER_FULL, BUSY_ELSEWHERE})
"""For what executions wait that may be due: ``not_before`` of such a one may be when it is looked at again."""

CANCELLED: Mapping[str, str] = {
    JOB_STOPPED: "Cancelled: the job was stopped before this fire began.",
    JOB_CHANGED: "Cancelled: the schedule of the job was changed before this fire began.",
}
"""Why a fire was taken back that an executor had already, with the message of its execution. If the execution had not
begun, it is no failure anywhere: not in statistics, not in rates, and not in the last runs of its job.
"""


class ReportedReason(StrEnum):
    """Why an execution ended although its handler neither returned nor failed, as its executor reports it."""

    COVERED = COVERED
    HANDLER_CHANGED = HANDLER_CHANGED
    KILLED = KILLED
    TIMED_OUT = TIMED_OUT
    EXECUTOR_STOPPED = EXECUTOR_STOPPED
    EXECUTOR_FAILED = EXECUTOR_FAILED
    PROCESS_DIED = PROCESS_DIED


REASONS: Mapping[str, str] = {
    NO_EXECUTOR: "No executor is registered for the group, and it has no addresses of its own.",
    NO_MATCHING_EXECUTOR: "Executors are there, but none has the labels the job asks for.",
    ALL_DRAINED: "Every executor it may go to is drained: somebody said that they get nothing new.",
    BAD_SELECTOR: "The job's label selector cannot be read.",
    NONE_ANSWERED: "FAILOVER asked every address, and none answered.",
    NONE_IDLE: "BUSYOVER asked every address, and none was idle.",
    CIRCUIT_OPEN: "The only address it may go to has failed too often and is left alone for a while.",
    CHANNELS_AWAY: "Its job has a queue, and the channels cannot be reached; it is offered when they can.",
    QUEUE_FULL: "Enough waits in its queue already; it is offered when some of that was taken.",
    NOBODY_TOOK_IT: "It waited in its queue for longer than an execution may, and no executor took it.",
    OFFERED_AGAIN: "What was in its queue is gone and nobody has it, so it was put there again.",
    PEER_FULL: "It waits for its turn: the executor has more triggers waiting than it takes at once.",
    BUSY_ELSEWHERE: "It waits for other executions of its job: they may still be running, were sent ahead to where it "
    "cannot go, or were due before it.",
    ASKED: "FAILOVER or BUSYOVER asked the addresses in order and chose another than the first.",
    PLANNED: "It waits for the instant before which it must not start.",
    HANDED_BACK: "The coordinator that was to send it stopped; the next one sends it.",
    NOT_SENT: "The connection was refused: the executor surely did not get it.",
    NO_CONNECTION: "There was no connection in time: the executor surely did not get it.",
    REFUSED: "The executor answered and did not take it.",
    WRONG_DIALECT: "The executor refused a message of another protocol generation. Check the dialect of its group.",
    TOKEN_NOT_SHOWN: "The executor reads no signatures, and its group does not show its token. If its executors are "
    "third-party, set the dialect of the group.",
    REROUTED: "The first address could not be reached or took no work, so another one was chosen.",
    UNKNOWN_ANSWER: "The answer was lost: the executor may have it. It is asked, never replaced.",
    TAKEN_AFTER_ALL: "The doubt is over: the executor has it.",
    SURELY_NOT_THERE: "The doubt is over: the executor surely does not have it.",
    NEVER_RESOLVED: "Nobody could ever say whether the executor had it. It may have run, so it is not retried.",
    EXECUTOR_RESTARTED: "The process that was asked is gone; its successor does not have it.",
    EXECUTOR_GONE: "The process that held it died before its time had come: it did not start and is sent again.",
    LEADER_CHANGED: "The coordinator that was sending it lost the lead; its successor asks the executor.",
    DELETED: "The job or its group was deleted.",
    JOB_UNREADABLE: "The stored definition of the job holds something this version does not know.",
    GROUP_UNREADABLE: "The stored group of the job holds something this version does not know.",
    ADDRESS_REFUSED: "The address given with the trigger is not one that may be sent to.",
    EXECUTOR_LEFT: "Its executor left the group before it was sent. A shard of a broadcast goes to no other.",
    SCRIPTS_OFF: "The job runs code, and its group does not allow scripts, or the code is that of another group.",
    SCRIPT_REFUSED: "The executor's own settings do not allow code of this kind.",
    NO_TEST_EXECUTOR: "A test runs beside its job, which none of the executors it may go to can do.",
    NO_SECRET_EXECUTOR: "The job has secrets, and no executor it may go to hides them and is reached without others "
    "reading along.",
    SECRETS_NOT_QUEUED: "The job has secrets and a queue, where they would lie readable until somebody takes them.",
    SECRET_MISSING: "A secret that the job names is not there, or cannot be opened with the keys of this node.",
    SUPER_TASK_MISSING: "The job runs the handler of another job, and that one does not exist.",
    DISCARDED: "The job was busy there, and its block strategy discards what comes meanwhile.",
    JOB_STOPPED: "The job was stopped before this was due; what had been sent ahead was recalled.",
    JOB_CHANGED: "The job's schedule was changed so that this was no longer due; what had been sent was recalled.",
    JOB_MOVED: "The job was moved to another group meanwhile; what belongs to one group leads to nothing in another.",
    KILLED: "Somebody killed it. It is not tried again, and no job follows it.",
    GIVEN_UP: "It failed, and its handler says that another attempt would fail as well: none was made.",
    COVERED: "A later execution of the job covered it, as the block strategy COVER_EARLY says.",
    HANDLER_CHANGED: "A later execution of the job brought another handler or another version of its code, so the "
    "executor ended this one.",
    TIMED_OUT: "It ran longer than it may: its executor ended it, or its handler said so.",
    EXECUTOR_STOPPED: "The executor stopped before it had ended: it was cut short, or had not begun.",
    EXECUTOR_FAILED: "The executor could not carry it out; the message says why.",
    PROCESS_DIED: "The process in which its handler ran ended before the handler returned.",
    RESULT_LOST: "The executor that had it can no longer report how it ended.",
    TIME_LIMIT: "It ran longer than its job allows and its executor did not end it, so the coordinator did.",
    ENDED_TOGETHER: "Another execution of its job ran too long at an executor that ends a job only as a whole.",
    LATE_RESULT: "Its executor reported something else after the execution had ended: written down, and not applied.",
    RESULT_REFUSED: "A result came that does not fit the execution, as from another scheduler: refused, not applied.",
    DONE_AGAIN: "Somebody had it done again, as another execution.",
    CHILD_MISSING: "It succeeded, but a job that should follow it does not exist.",
    CHILDREN_NOT_STARTED: "The broadcast is over, but not every shard succeeded, so its children were not started.",
    RESULT_TOO_LONG: "It succeeded, but what it returned came cut, so the jobs that should get it were not started.",
}
"""Every code with what it says to people; ``docs/routing.md`` shows this table, and a test compares."""
