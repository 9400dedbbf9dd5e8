"""The schema, as the program sees it. ``tests/store/test_migrations.py`` proves it equal to the sum of the migrations.

Names and columns of the ``orth_job_*`` tables are public: people report on them. Ours carry the prefix ``orth_``. What
is kept about executions that have ended is in ``record_tables``.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Index,
    Integer,
    SmallInteger,
    String,
    Text,
    UniqueConstraint,
    literal_column,
    or_,
    text,
)

from orth.domain.executions import CANCELLED_STATUS, OUTCOMES
from orth.domain.reasons import EXPECTED
from orth.store.schema import BigId, Instant, LongText, partial_index, table

groups = table(
    "orth_job_group",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("app_name", String(64), nullable=False, unique=True),
    Column("title", String(64), nullable=False),
    Column("address_type", SmallInteger, nullable=False),
    Column("address_list", LongText),
    Column("update_time", Instant, nullable=False),
    Column("dialect", String(8), nullable=False, server_default="auto"),  # how its executors are spoken to
    Column("scripts_allowed", SmallInteger, nullable=False, server_default="0"),
    Column("admission", String(8), nullable=False, server_default="open"),  # who may be its executor: open, known
)

registry = table(
    "orth_job_registry",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("registry_group", String(50), nullable=False),
    Column("registry_key", String(255), nullable=False),
    Column("registry_value", String(255), nullable=False),
    Column("update_time", Instant, nullable=False),
    Column("incarnation", String(64)),
    Column("extensions", String(255), nullable=False),
    Column("version", String(64)),
    Column("since", Instant, nullable=False, server_default="0"),  # when this incarnation was first heard of
    Column("load", Integer),  # what runs and waits there, as it said itself
    Column("labels", Text),  # a JSON object
    Column("clock_offset", Integer),  # ms its clock is ahead of the coordinator that measured it
    Column("queues", Text),  # what it takes from, a JSON list; of executors on queue transport
    Column("key_id", String(16)),  # of the token it showed with its last announcement
    Column("work_key", String(255)),  # of this incarnation, sealed
    Column("vitals", String(255)),  # what its last beat said of it, a JSON object
    Column("left_behind", Text),  # executions whose handlers could not be ended, and since when: a JSON list
    Column("handlers_digest", String(64)),  # of the list of handlers that it announced (orth_handler_list)
    Column("unavailable", String(32)),  # why it takes no new executions, as its last beat said
    UniqueConstraint("registry_group", "registry_key", "registry_value", name="idx_g_k_v"),
    Index("ix_registry_update_time", "update_time"),
)

# Lists of handlers that executors announced: each once for each app.
handler_lists = table(
    "orth_handler_list",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("app_name", String(255), nullable=False),
    Column("digest", String(64), nullable=False),  # SHA-256 of the text
    Column("size", Integer, nullable=False),  # bytes of the text
    Column("handlers", LongText, nullable=False),  # a JSON object
    Column("named_at", Instant, nullable=False),  # when an executor last announced it
    UniqueConstraint("app_name", "digest", name="uq_handler_list"),
)

# Executors nothing new is sent to, registered at the moment or not.
executor_drains = table(
    "orth_executor_drain",
    Column("app_name", String(255), primary_key=True),
    Column("address", String(255), primary_key=True),
    Column("since", Instant, nullable=False),
)

calendars = table(
    "orth_calendar",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("definition", LongText, nullable=False),
    Column("update_time", Instant, nullable=False),
)

jobs = table(
    "orth_job_info",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("job_group", BigInteger, nullable=False),
    Column("job_desc", String(255), nullable=False),
    Column("version", Integer, nullable=False),
    Column("add_time", Instant, nullable=False),
    Column("update_time", Instant, nullable=False),
    Column("author", String(64), nullable=False),
    Column("alarm_email", String(255), nullable=False, default=""),
    Column("schedule_type", String(50), nullable=False),
    Column("schedule_conf", String(255), nullable=False),
    Column("timezone", String(64), nullable=False),
    Column("dst_policy", String(10), nullable=False),
    Column("jitter", Integer, nullable=False),
    Column("calendar_id", BigInteger),
    Column("misfire_strategy", String(50), nullable=False),
    Column("executor_route_strategy", String(50), nullable=False),
    Column("executor_handler", String(255), nullable=False),
    Column("executor_param", LongText, nullable=False),
    Column("executor_block_strategy", String(50), nullable=False),
    Column("executor_concurrency", Integer, nullable=False),
    Column("executor_timeout", Integer, nullable=False),
    Column("executor_fail_retry_count", Integer, nullable=False),
    Column("glue_type", String(50), nullable=False),
    Column("glue_source", LongText, nullable=False),
    Column("glue_remark", String(128), nullable=False, default=""),
    Column("glue_updatetime", Instant, nullable=False),
    Column("child_jobid", String(255), nullable=False),
    Column("super_task_id", BigInteger, nullable=False, default=0),
    Column("trigger_status", SmallInteger, nullable=False),
    Column("trigger_last_time", Instant, nullable=False),
    Column("trigger_next_time", Instant, nullable=False),
    Column("due_time", Instant, nullable=False),  # trigger_next_time plus jitter; 0 = not waiting for the clock
    Column("label_selector", String(255)),
    Column("child_per_shard", SmallInteger, nullable=False, server_default="0"),  # else once per broadcast
    Column("lost_after", Integer, nullable=False, server_default="0"),  # seconds; 0 = the setting
    Column("retry_policy", String(255)),  # a JSON object; null = at once, and after whatever failure
    Column("alarm_policy", String(1000)),  # a JSON object; null = the settings
    Column("child_param", String(16), nullable=False, server_default="own"),  # or "result": what the parent returned
    Column("executor_queue", String(64), nullable=False, server_default=text("''")),  # empty = by routing
    Column("priority", SmallInteger, nullable=False, server_default="1"),
    Column("secrets", Text),  # names, separated by commas
    Column("tags", String(400)),  # separated by commas; null = none
    Column("overlap", String(8), nullable=False, server_default="cluster"),  # or "executor"
    Index("ix_info_due", "trigger_status", "due_time"),
    Index("ix_info_group", "job_group", "id"),
)

executions = table(
    "orth_job_log",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("job_group", BigInteger, nullable=False),
    Column("job_id", BigInteger, nullable=False),
    Column("job_version", Integer, nullable=False),
    Column("cause", String(16), nullable=False),
    Column("trigger_key", String(160), nullable=False),
    Column("origin_id", BigInteger),  # the execution this one follows (retry, child)
    Column("request_digest", String(64)),  # of what a caller asked for under an idempotency key
    Column("shard_index", Integer, nullable=False),
    Column("shard_total", Integer, nullable=False),
    Column("executor_sharding_param", String(20)),  # "i/n" of a broadcast, as reports on this table expect it
    Column("address_list", String(1000)),  # given with the trigger: routing chooses from these instead of the group's
    Column("executor_address", String(255)),
    Column("incarnation", String(64)),
    Column("executor_handler", String(255), nullable=False),
    Column("executor_param", LongText, nullable=False),
    Column("executor_fail_retry_count", Integer, nullable=False),  # what is left of the budget
    Column("attempt", Integer, nullable=False),
    Column("schedule_time", Instant),
    Column("trigger_time", Instant, nullable=False),
    Column("trigger_code", Integer, nullable=False),
    Column("trigger_msg", Text),
    Column("start_time", Instant),
    Column("handle_time", Instant),
    Column("handle_code", Integer, nullable=False),
    Column("handle_msg", Text),
    Column("alarm_status", SmallInteger, nullable=False),
    Column("phase", String(12), nullable=False),
    Column("phase_time", Instant, nullable=False),
    Column("epoch", BigInteger, nullable=False),  # the term that last dispatched it
    Column("reason_code", String(32)),  # why it ended, waits or was not taken, in a word
    Column("not_before", Instant),  # planned ahead: must not start earlier
    Column("recalled", String(32)),  # sent ahead and no longer wanted: the reason, in a word
    Column("batch_id", BigInteger),
    Column("broadcast_id", BigInteger),  # the broadcast it is a shard of
    Column("outcome", SmallInteger, nullable=False, server_default="0"),  # how it ended, as a number; 0 = it has not
    Column("late_code", Integer),  # of the first result that came after it had ended otherwise
    Column("queue", String(160)),  # where it was offered, if it was
    Column("priority", SmallInteger),
    Column("offered_at", Instant),
    Column("dispatch_time", Instant),  # when its executor said that it has it
    # The term in which it was sent with a report key. A coordinator that knows of none leaves this as it is.
    Column("keyed_epoch", BigInteger),
    Column("root_id", BigInteger),  # the first attempt at what it does again; null = it is the first
    Column("log_level", String(8)),  # given with the trigger: null = as its job has it
    Column("duration_ms", BigInteger),  # how long its handler ran, as its executor measured
    UniqueConstraint("job_id", "trigger_key", "shard_index", name="uq_log_trigger"),
    Index("ix_log_phase", "phase", "id"),
    Index("ix_log_job", "job_id", "id"),
    Index("ix_log_trigger_time", "trigger_time"),
    partial_index("ix_log_batch", "batch_id", "phase", where="batch_id IS NOT NULL"),
    # Most of them succeed, and nobody looks for those by how they ended: PostgreSQL leaves them out (``has_outcome``).
    # SQLite would use such an index only for questions in its very words.
    Index("ix_log_outcome", "outcome", "id", postgresql_where=text("outcome <> 1")),
    Index("ix_log_job_outcome", "job_id", "outcome", "id", postgresql_where=text("outcome <> 1")),
    Index("ix_log_group", "job_group", "id"),
    partial_index("ix_log_address", "executor_address", "id", where="executor_address IS NOT NULL"),
    # An execution is small when it is opened. Without this, PostgreSQL would put each into what is left of some page
    # of the history, reading, changing and logging one old page for each.
    postgresql_with={"fillfactor": 90},
)


def has_outcome(*numbers: int) -> ColumnElement[bool]:
    """Whether an execution ended so. The numbers stand in the statement itself: of a bound value PostgreSQL cannot know
    that a partial index has it.
    """
    written: list[ColumnElement[int]] = [literal_column(str(number)) for number in numbers]
    return executions.c.outcome == written[0] if len(written) == 1 else executions.c.outcome.in_(written)


UNEXPECTED = or_(executions.c.reason_code.is_(None), executions.c.reason_code.not_in(sorted(EXPECTED)))
"""That nobody wanted an execution to end as it did."""
NOT_CANCELLED = ~has_outcome(OUTCOMES[CANCELLED_STATUS])
"""That an execution was not taken back before it began. It may be open."""

# What happened to an execution beyond the ordinary: a refusal, a doubt, a second address. The ordinary way has no rows.
notes = table(
    "orth_execution_note",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("execution_id", BigInteger, nullable=False),
    Column("at", Instant, nullable=False),
    Column("node_id", String(64), nullable=False),
    Column("code", String(32), nullable=False),
    Column("message", String(500), nullable=False),
    Index("ix_note_execution", "execution_id", "id"),
)

# Executions that ended here while their executor may still be running them: killed, past their time limit, or with a
# handler that could not be ended. A row goes when the executor confirms the end, or when ``lost_after`` has passed.
unconfirmed_ends = table(
    "orth_unconfirmed_end",
    Column("execution_id", BigInteger, primary_key=True, autoincrement=False),
    Column("job_id", BigInteger, nullable=False),
    Column("job_group", BigInteger, nullable=False),
    Column("shard_index", Integer, nullable=False),  # -1 = it was no shard of a broadcast
    Column("trigger_time", Instant, nullable=False),
    Column("executor_address", String(255)),
    Column("incarnation", String(64)),
    Column("queue", String(160)),
    Column("ended_at", Instant, nullable=False),
    Index("ix_unconfirmed_end_job", "job_id"),
)

# Where the executions of a job went, for the strategies that look back. The row without an address counts them.
routes = table(
    "orth_route",
    Column("job_id", BigInteger, primary_key=True, autoincrement=False),
    Column("address", String(255), primary_key=True),
    Column("uses", BigInteger, nullable=False),
    Column("last_use", BigInteger, nullable=False),  # a number that grows with every routed execution of the job
)

# What each coordinator finds when it calls an address.
reachability = table(
    "orth_reach",
    Column("node_id", String(64), primary_key=True),
    Column("address", String(255), primary_key=True),
    Column("state", String(12), nullable=False),
    Column("since", Instant, nullable=False),
    Column("checked_at", Instant, nullable=False),
    Column("reason", String(255), nullable=False),
)

# The shards of a broadcast that have ended for good are counted here; the row goes with the last of them.
broadcasts = table(
    "orth_broadcast",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("job_id", BigInteger, nullable=False),
    Column("total", Integer, nullable=False),
    Column("succeeded", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
)

batches = table(
    "orth_batch",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("job_id", BigInteger, nullable=False),
    Column("trigger_key", String(160), nullable=False),
    Column("request_digest", String(64), nullable=False),
    Column("start_time", Instant, nullable=False),
    Column("end_time", Instant, nullable=False),  # excluded
    Column("next_time", Instant, nullable=False),  # fires before it are opened
    Column("total", Integer, nullable=False),
    Column("opened", Integer, nullable=False),
    Column("at_once", Integer, nullable=False),  # executions of it that may be open together
    Column("executor_param", LongText),  # null = the job's own
    Column("address_list", String(1000)),
    Column("skip_done", SmallInteger, nullable=False),  # leave out what has run or runs
    Column("timing", String(64), nullable=False),  # a digest of the schedule its fires were counted with
    Column("state", String(10), nullable=False),
    Column("reason", String(255), nullable=False),
    Column("actor", String(64), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("changed_at", Instant, nullable=False),
    Column("job_group", BigInteger, nullable=False, server_default="0"),  # in which it was started
    UniqueConstraint("job_id", "trigger_key", name="uq_batch_trigger"),
    Index("ix_batch_state", "state", "id"),
)

fires = table(
    "orth_fire",
    Column("job_id", BigInteger, primary_key=True, autoincrement=False),
    Column("fire_time", Instant, primary_key=True, autoincrement=False),
    Column("last_time", Instant, nullable=False),  # a span of skipped fires is one row
    Column("fires", Integer),  # how many; null = more than were worth counting
    Column("decision", String(10), nullable=False),  # run | skipped | coalesced
    Column("reason", String(255), nullable=False),
    Column("job_version", Integer, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("decided_at", Instant, nullable=False),
    Index("ix_fire_decided", "decided_at"),
)

ownership = table(
    "orth_owner",
    Column("execution_id", BigInteger, primary_key=True, autoincrement=False),
    Column("node_id", String(64)),
    Column("generation", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),
    Column("changed_at", Instant, nullable=False),
    Column("incarnation", String(64)),  # of the owner: a process that came back under the same name owns nothing
    Index("ix_owner_node", "node_id", "state"),
    Index("ix_owner_state", "state", "execution_id"),
)

leases = table(
    "orth_lease",
    Column("name", String(64), primary_key=True),
    Column("node_id", String(64)),
    Column("incarnation", String(64)),
    Column("epoch", BigInteger, nullable=False),
    Column("renewals", BigInteger, nullable=False),
)

# A row of its own: share-locking it in every leader transaction must not make renewals wait.
epochs = table(
    "orth_epoch",
    Column("shard_id", Integer, primary_key=True, autoincrement=False),
    Column("epoch", BigInteger, nullable=False),
    Column("incarnation", String(64)),
)

nodes = table(
    "orth_node",
    Column("node_id", String(64), primary_key=True),
    Column("incarnation", String(64), nullable=False),
    Column("url", String(255), nullable=False),
    Column("role", String(16), nullable=False),
    Column("state", String(16), nullable=False),
    Column("job_count", Integer, nullable=False),
    Column("version", String(32), nullable=False),
    Column("joined_at", Instant, nullable=False),
    Column("last_beat", Instant, nullable=False),  # for people: whether it lives is judged by "beats"
    Column("beats", BigInteger, nullable=False, server_default="0"),
    Column("queued_count", Integer, nullable=False, server_default="0"),
    Column("cpu_millicores", Integer, nullable=False, server_default="0"),
    Column("memory_bytes", BigInteger, nullable=False, server_default="0"),
    Column("process_id", Integer, nullable=False, server_default="0"),
    Column("wish", String(16)),  # what somebody asked this process to do: drain, step_down
    Column("hostname", String(255)),
)

glue_versions = table(
    "orth_job_logglue",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("job_id", BigInteger, nullable=False),
    Column("glue_type", String(50), nullable=False),
    Column("glue_source", LongText, nullable=False),
    Column("glue_remark", String(128), nullable=False),
    Column("author", String(64), nullable=False),
    Column("add_time", Instant, nullable=False),
    Column("update_time", Instant, nullable=False),
    Column("left_group", BigInteger),  # where it was saved, if its job is in another group now
    Index("ix_logglue_job", "job_id", "id"),
)

users = table(
    "orth_job_user",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("username", String(50), nullable=False, unique=True),
    Column("password", String(255), nullable=False),
    Column("password_version", Integer, nullable=False),  # part of every session token: a new password ends them all
    Column("role", String(16), nullable=False),
    Column("permission", String(255), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("update_time", Instant, nullable=False),
    Column("disabled_at", Instant),  # since then nobody is let in under this name
)

secrets = table(
    "orth_secret",
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
)
