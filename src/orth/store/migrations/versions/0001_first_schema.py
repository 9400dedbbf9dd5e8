"""The first schema."""

import sqlalchemy as sa

from orth.store.migrations.steps import BigId, LongText, create_index, create_table

revision = "0001"
down_revision = None


def upgrade() -> None:
    create_table(
        "orth_job_group",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("app_name", sa.String(64), nullable=False, unique=True),
        sa.Column("title", sa.String(64), nullable=False),
        sa.Column("address_type", sa.SmallInteger(), nullable=False),
        sa.Column("address_list", sa.Text()),
        sa.Column("update_time", sa.BigInteger(), nullable=False),
    )
    create_table(
        "orth_job_registry",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("registry_group", sa.String(50), nullable=False),
        sa.Column("registry_key", sa.String(255), nullable=False),
        sa.Column("registry_value", sa.String(255), nullable=False),
        sa.Column("update_time", sa.BigInteger(), nullable=False),
        sa.Column("incarnation", sa.String(64)),
        sa.Column("extensions", sa.String(255), nullable=False),
        sa.Column("version", sa.String(64)),
        sa.Column("handlers", LongText),
        sa.UniqueConstraint("registry_group", "registry_key", "registry_value", name="idx_g_k_v"),
    )
    create_index("ix_registry_update_time", "orth_job_registry", ["update_time"])
    create_table(
        "orth_calendar",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
        sa.Column("definition", LongText, nullable=False),
        sa.Column("update_time", sa.BigInteger(), nullable=False),
    )
    create_table(
        "orth_job_info",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("job_group", sa.BigInteger(), nullable=False),
        sa.Column("job_desc", sa.String(255), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("add_time", sa.BigInteger(), nullable=False),
        sa.Column("update_time", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.String(64), nullable=False),
        sa.Column("alarm_email", sa.String(255), nullable=False),
        sa.Column("schedule_type", sa.String(50), nullable=False),
        sa.Column("schedule_conf", sa.String(255), nullable=False),
        sa.Column("timezone", sa.String(64), nullable=False),
        sa.Column("dst_policy", sa.String(10), nullable=False),
        sa.Column("jitter", sa.Integer(), nullable=False),
        sa.Column("calendar_id", sa.BigInteger()),
        sa.Column("misfire_strategy", sa.String(50), nullable=False),
        sa.Column("executor_route_strategy", sa.String(50), nullable=False),
        sa.Column("route_counter", sa.BigInteger(), nullable=False),
        sa.Column("executor_handler", sa.String(255), nullable=False),
        sa.Column("executor_param", LongText, nullable=False),
        sa.Column("executor_block_strategy", sa.String(50), nullable=False),
        sa.Column("executor_concurrency", sa.Integer(), nullable=False),
        sa.Column("executor_timeout", sa.Integer(), nullable=False),
        sa.Column("executor_fail_retry_count", sa.Integer(), nullable=False),
        sa.Column("glue_type", sa.String(50), nullable=False),
        sa.Column("glue_source", LongText, nullable=False),
        sa.Column("glue_remark", sa.String(128), nullable=False),
        sa.Column("glue_updatetime", sa.BigInteger(), nullable=False),
        sa.Column("child_jobid", sa.String(255), nullable=False),
        sa.Column("super_task_id", sa.BigInteger(), nullable=False),
        sa.Column("trigger_status", sa.SmallInteger(), nullable=False),
        sa.Column("trigger_last_time", sa.BigInteger(), nullable=False),
        sa.Column("trigger_next_time", sa.BigInteger(), nullable=False),
        sa.Column("due_time", sa.BigInteger(), nullable=False),
    )
    create_index("ix_info_due", "orth_job_info", ["trigger_status", "due_time"])
    create_index("ix_info_group", "orth_job_info", ["job_group", "id"])
    create_table(
        "orth_job_log",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("job_group", sa.BigInteger(), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("job_version", sa.Integer(), nullable=False),
        sa.Column("cause", sa.String(16), nullable=False),
        sa.Column("trigger_key", sa.String(160), nullable=False),
        sa.Column("origin_id", sa.BigInteger()),
        sa.Column("request_digest", sa.String(64)),
        sa.Column("shard_index", sa.Integer(), nullable=False),
        sa.Column("shard_total", sa.Integer(), nullable=False),
        sa.Column("executor_sharding_param", sa.String(20)),
        sa.Column("address_list", sa.String(1000)),
        sa.Column("executor_address", sa.String(255)),
        sa.Column("incarnation", sa.String(64)),
        sa.Column("executor_handler", sa.String(255), nullable=False),
        sa.Column("executor_param", LongText, nullable=False),
        sa.Column("executor_fail_retry_count", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("schedule_time", sa.BigInteger()),
        sa.Column("trigger_time", sa.BigInteger(), nullable=False),
        sa.Column("trigger_code", sa.Integer(), nullable=False),
        sa.Column("trigger_msg", sa.Text()),
        sa.Column("start_time", sa.BigInteger()),
        sa.Column("handle_time", sa.BigInteger()),
        sa.Column("handle_code", sa.Integer(), nullable=False),
        sa.Column("handle_msg", sa.Text()),
        sa.Column("alarm_status", sa.SmallInteger(), nullable=False),
        sa.Column("phase", sa.String(12), nullable=False),
        sa.Column("phase_time", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("job_id", "trigger_key", "shard_index", name="uq_log_trigger"),
    )
    create_index("ix_log_job", "orth_job_log", ["job_id", "id"])
    create_index("ix_log_phase", "orth_job_log", ["phase", "id"])
    create_index("ix_log_trigger_time", "orth_job_log", ["trigger_time"])
    create_table(
        "orth_fire",
        sa.Column("job_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("fire_time", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("last_time", sa.BigInteger(), nullable=False),
        sa.Column("fires", sa.Integer()),
        sa.Column("decision", sa.String(10), nullable=False),
        sa.Column("reason", sa.String(255), nullable=False),
        sa.Column("job_version", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("decided_at", sa.BigInteger(), nullable=False),
    )
    create_index("ix_fire_decided", "orth_fire", ["decided_at"])
    create_table(
        "orth_owner",
        sa.Column("execution_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("node_id", sa.String(64)),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
    )
    create_index("ix_owner_node", "orth_owner", ["node_id", "state"])
    create_table(
        "orth_lease",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("node_id", sa.String(64)),
        sa.Column("incarnation", sa.String(64)),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("renewals", sa.BigInteger(), nullable=False),
    )
    create_table(
        "orth_epoch",
        sa.Column("shard_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
    )
    create_table(
        "orth_node",
        sa.Column("node_id", sa.String(64), primary_key=True),
        sa.Column("incarnation", sa.String(64), nullable=False),
        sa.Column("url", sa.String(255), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("job_count", sa.Integer(), nullable=False),
        sa.Column("version", sa.String(32), nullable=False),
        sa.Column("joined_at", sa.BigInteger(), nullable=False),
        sa.Column("last_beat", sa.BigInteger(), nullable=False),
    )
    create_table(
        "orth_orchestrator",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("url", sa.String(255), nullable=False),
        sa.Column("incarnation", sa.String(64), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("registered_at", sa.BigInteger(), nullable=False),
        sa.Column("last_heartbeat", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("url", "incarnation", name="uq_orchestrator_process"),
    )
    create_table(
        "orth_agent",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("orchestrator_id", sa.String(64), nullable=False),
        sa.Column("url", sa.String(255), nullable=False),
        sa.Column("incarnation", sa.String(64), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("registered_at", sa.BigInteger(), nullable=False),
        sa.Column("last_heartbeat", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("url", "incarnation", name="uq_agent_process"),
    )
    create_index("ix_agent_orchestrator", "orth_agent", ["orchestrator_id"])
    create_table(
        "orth_alarm",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("execution_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("channel", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt", sa.BigInteger(), nullable=False),
        sa.Column("locked_by", sa.String(64)),
        sa.Column("message", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("execution_id", "kind", "channel", name="uq_alarm_once"),
    )
    create_index("ix_alarm_waiting", "orth_alarm", ["state", "next_attempt"])
    create_table(
        "orth_job_logglue",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("glue_type", sa.String(50), nullable=False),
        sa.Column("glue_source", LongText, nullable=False),
        sa.Column("glue_remark", sa.String(128), nullable=False),
        sa.Column("author", sa.String(64), nullable=False),
        sa.Column("add_time", sa.BigInteger(), nullable=False),
        sa.Column("update_time", sa.BigInteger(), nullable=False),
    )
    create_index("ix_logglue_job", "orth_job_logglue", ["job_id", "id"])
    create_table(
        "orth_job_log_report",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("trigger_day", sa.BigInteger(), nullable=False, unique=True),
        sa.Column("running_count", sa.Integer(), nullable=False),
        sa.Column("suc_count", sa.Integer(), nullable=False),
        sa.Column("fail_count", sa.Integer(), nullable=False),
        sa.Column("update_time", sa.BigInteger(), nullable=False),
    )
    create_table(
        "orth_job_user",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("username", sa.String(50), nullable=False, unique=True),
        sa.Column("password", sa.String(255), nullable=False),
        sa.Column("password_version", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("permission", sa.String(255), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("update_time", sa.BigInteger(), nullable=False),
    )
    create_table(
        "orth_token",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("prefix", sa.String(16), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("scope", sa.String(255), nullable=False),
        sa.Column("user_id", sa.BigInteger()),
        sa.Column("group_id", sa.BigInteger()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger()),
        sa.Column("last_used_at", sa.BigInteger()),
        sa.Column("revoked_at", sa.BigInteger()),
    )
    create_table(
        "orth_audit",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("object_kind", sa.String(32), nullable=False),
        sa.Column("object_id", sa.String(64), nullable=False),
        sa.Column("before", LongText),
        sa.Column("after", LongText),
        sa.Column("origin", sa.String(64), nullable=False),
        sa.Column("previous_digest", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
    )
    create_index("ix_audit_object", "orth_audit", ["object_kind", "object_id", "id"])
    create_table(
        "orth_secret",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
    )
    create_table(
        "orth_channel_message",
        sa.Column("id", BigId, primary_key=True, autoincrement=True),
        sa.Column("channel", sa.String(160), nullable=False),
        sa.Column("payload", LongText, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("consumer", sa.String(64)),
        sa.Column("delivered_at", sa.BigInteger()),
        sa.Column("deliveries", sa.Integer(), nullable=False),
    )
    create_index("ix_channel_waiting", "orth_channel_message", ["channel", "consumer", "id"])
