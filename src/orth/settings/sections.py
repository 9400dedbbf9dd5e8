"""Every setting of every role, section by section, each with its default and one line that explains it.

The explanations are the documentation: ``docs/settings.md`` and ``orth config view`` are made from them. ``option``
names the command-line option where there is one. Defaults suit one machine; what they trade is said where it is not
obvious.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from orth.settings.kinds import (
    Archive,
    BuiltinHandlers,
    Bytes,
    ChannelsUrl,
    Count,
    CountFromZero,
    Duration,
    Folder,
    Host,
    Hosts,
    Labels,
    LeaseProvider,
    Listen,
    MailSecurity,
    Moment,
    Networks,
    OptionalFolder,
    OptionalHost,
    OptionalName,
    OptionalPort,
    OptionalProgram,
    OptionalSwitch,
    OptionalText,
    OptionalUrl,
    OptionalUrls,
    Pauses,
    Port,
    Prefix,
    ProcessLimits,
    Queues,
    RoleMap,
    Roles,
    Scopes,
    ScriptKinds,
    Secret,
    SourceBytes,
    StoreUrl,
    Switch,
    Transport,
    Urls,
    Variables,
    Workers,
    Zone,
)
from orth.settings.values import Address


def _setting(default: object, explanation: str, *, option: str | None = None, shown: bool = True) -> Any:
    """One setting. ``Any``, as ``pydantic.Field`` itself: the annotation beside it is the type."""
    return Field(default=default, description=explanation, json_schema_extra={"option": option}, repr=shown)


def _seconds(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


class Section(BaseModel):
    """Base of all sections: frozen, and no key that is not declared."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class StoreSection(Section):
    """The database, the only memory of the cluster."""

    url: StoreUrl = _setting(
        None,
        "Database: sqlite:///path, postgresql://… or mysql://…. Unset: orth.db in the coordinator's data directory.",
        option="--store",
        shown=False,
    )
    pool_size: Count = _setting(
        8, "Connections a coordinator works with; up to four more are for leading, beating and hearing others."
    )


class ChannelsSection(Section):
    """How coordinators and queue executors wake and tell each other."""

    url: ChannelsUrl = _setting(
        None,
        "memory:// within one process, database:// through the store, redis://host:port/n through Redis or Valkey. "
        "Unset: database://; with SQLite within the process, until a second coordinator uses the file.",
        option="--channels",
        shown=False,
    )
    open_redis: Switch = _setting(
        False,
        "Whether a Redis on another machine may be used without a password: whoever reaches it could then give work to "
        "executors.",
    )
    prefix: Prefix = _setting(
        "orchestrix", "How the name of each channel begins; clusters that share a Redis need different ones."
    )
    queue_limit: Count = _setting(
        100_000, "Messages of one queue that are not done, at most; what is sent beyond that waits in the database."
    )
    box_limit: Count = _setting(
        10_000, "Messages about one execution that are kept for its owner, at most; its executor keeps the others."
    )
    message_limit: Bytes = _setting(4 * 1024 * 1024, "Largest message.")


class ClusterSection(Section):
    """Leadership, membership and the handing over of executions between coordinators."""

    lease: Duration = _setting(
        _seconds(30), "How long a leadership lasts unrenewed; a dead leader is replaced after that."
    )
    lease_renew: Duration = _setting(_seconds(10), "How often the leader renews its lease.")
    lease_provider: LeaseProvider = _setting(
        "database",
        "redis adds a lock there, so that a node that starts after a crash waits less; the lease in the database "
        "decides in both cases.",
    )
    heartbeat: Duration = _setting(_seconds(10), "How often a coordinator says that it lives.")
    dead_after: Duration = _setting(
        _seconds(30), "Silence after which a coordinator counts as dead and its executions are taken over."
    )
    handoff_ack_timeout: Duration = _setting(
        _seconds(5), "How long a draining coordinator waits for an execution to be taken over before it asks again."
    )
    handoff_tries: Count = _setting(3, "How often it asks before it leaves the execution to the orphan check.")
    handoff_grace: Duration = _setting(
        _seconds(30), "How long it stays for late takers when some executions were not taken over."
    )
    handoff_hard_timeout: Duration = _setting(_seconds(60), "When it stops in any case.")
    orphan_check: Duration = _setting(_seconds(30), "How often the leader looks for executions whose owner is gone.")
    assignment_timeout: Duration = _setting(
        _seconds(30), "How long a dispatched execution may be without an owner before the leader offers it to all."
    )
    own_after: Moment = _setting(
        _seconds(2),
        "How long an execution is open before a coordinator owns it: most are over by then and cost neither a message "
        "nor a row. 0s: every one is assigned with its dispatch.",
    )
    rebalance: Switch = _setting(
        True, "Whether a coordinator that owns far more executions than another hands some over."
    )
    rebalance_factor: Count = _setting(2, "How many times as much it has to own for that.")
    rebalance_difference: Count = _setting(10, "How many more it has to own for that: fewer are chance, not load.")


class RegistrySection(Section):
    """Who is there: the registration and heartbeats of executors and coordinators."""

    url: OptionalUrl = _setting(
        None,
        "Registry API that coordinators and executors register with, and where executors learn of coordinators. Unset: "
        "a coordinator serves it itself, an executor asks its coordinators. Empty in the file: nobody registers.",
    )
    heartbeat: Duration = _setting(_seconds(30), "How often a registered process is expected to beat.")
    dead_after: Duration = _setting(_seconds(90), "Silence after which it is removed and no longer given work.")
    monitor: Duration = _setting(_seconds(30), "How often the registry looks for silent processes.")
    probe_every: Duration = _setting(
        _seconds(1), "How often an executor is called that is suspect, overdue, or not watched by an open connection."
    )
    probe_timeout: Duration = _setting(_seconds(2), "How long it may take to answer such a call.")
    probe_rate: Count = _setting(
        200, "Such calls per second from one coordinator, at most; with more to call, each is called less often."
    )
    watch_limit: CountFromZero = _setting(
        10_000, "Executors one coordinator watches by an open connection, at most; each needs a file descriptor."
    )
    watch_timeout: Duration = _setting(
        _seconds(8), "Silence of a watched executor's machine after which the executor is suspect."
    )
    register_pauses: Pauses = _setting(
        tuple(map(_seconds, (0, 5, 10, 20, 40))), "Pauses before the first attempts to register, one per attempt."
    )
    register_again: Duration = _setting(_seconds(120), "Pause between further attempts once those have failed.")
    settle: Moment = _setting(_seconds(2), "How long a process that has started waits before it registers.")
    timeout: Duration = _setting(_seconds(10), "How long the registry may take to answer.")
    breaker_failures: Count = _setting(
        10, "Calls in a row that fail before the registry is left alone for a while: more than the first attempts."
    )
    breaker_cooldown: Duration = _setting(
        timedelta(minutes=5),
        "How long it is left alone before one call probes whether it is back; never past the next attempt to register.",
    )
    discover: Duration = _setting(_seconds(30), "How often an executor asks registry.url which coordinators there are.")
    forget_after: Duration = _setting(
        timedelta(hours=1), "How long a service that missed three beats is listed as Failed before it is removed."
    )
    orchestrators_by_token: Switch = _setting(
        False,
        "Whether who has the access token may enter orchestrators in the registry. Coordinators of its own database "
        "may always; those of another one, of another make or of an earlier version need this.",
    )
    executors_per_app: Count = _setting(
        10_000, "Executors of one app that may be registered, at most; those that are stay so. Another one is refused."
    )
    services_limit: Count = _setting(
        10_000,
        "Agents, or orchestrators, that one token may register, at most. Coordinators of its own database always may.",
    )
    events_kept: Count = _setting(
        10_000, "Events about services that are kept, for those who were away; who missed more gets a snapshot."
    )
    health: Switch = _setting(True, "Whether services are asked for their health; if not, only beats tell.")
    health_every: Duration = _setting(_seconds(10), "How often each of them is asked.")
    health_failures: Count = _setting(3, "Bad answers in a row after which a service is Failed.")
    health_rate: Count = _setting(50, "Services asked in a second, at most; with many, each is asked less often.")
    socket_clients: Count = _setting(
        5_000, "Listeners of /ws and /api/v1/changes in one process, at most; never more than half of its descriptors."
    )
    socket_clients_each: Count = _setting(
        50, "Of these of one user or API token, at most, or of one address before they say who they are."
    )
    socket_queue: Count = _setting(1_000, "Events a listener may be behind before it is closed as too slow.")


class CoordinatorSection(Section):
    """One coordinator process: what it serves, and how it plans, dispatches and follows executions."""

    listen: Listen = _setting(
        Address("127.0.0.1", 5080), "Where it serves API, console and executors.", option="--listen"
    )
    url: OptionalUrl = _setting(
        None, "URL under which other machines reach it, shown in the list of the cluster. Unset: derived from listen."
    )
    node_id: OptionalName = _setting(
        None, "Its name in the cluster, unique. Unset: derived from host and port.", option="--node-id"
    )
    data_dir: Folder = _setting(
        Path(".orth"), "Where it keeps files; relative to the working directory.", option="--data-dir"
    )
    roles: Roles = _setting(
        ("coordinator", "registry", "console"),
        "What this process does. A coordinator does all of it; registry alone serves only the Registry API and its "
        "socket, console alone only what people use.",
        option="--roles",
    )
    misfire_threshold: Duration = _setting(_seconds(5), "A fire later than this is a misfire, treated as its job says.")
    catch_up_limit: Count = _setting(100, "Missed fires of one job that are made up for at once, at most.")
    catch_up_age: Duration = _setting(timedelta(days=1), "Fires missed longer ago than this are never made up for.")
    plan_ahead: Moment = _setting(
        _seconds(5), "How long before it is due a fire is decided and sent to executors that can wait; 0s: not before."
    )
    connections: Count = _setting(
        10_000,
        "Connections it holds at once, at most; never more than half of its descriptors. Idle strangers go first.",
    )
    plan_batch: Count = _setting(500, "Fires planned in one transaction, at most.")
    dispatch_batch: Count = _setting(500, "Executions claimed for dispatch in one transaction, at most.")
    dispatch_timeout: Duration = _setting(_seconds(3), "How long an executor may take to answer a trigger.")
    dispatch_in_flight: Count = _setting(1000, "Requests with triggers on their way at the same time, at most.")
    dispatch_per_executor: Count = _setting(16, "Of these to one executor, at most; to one that takes batches, two.")
    settle: Moment = _setting(
        _seconds(15),
        "How long after its start scheduled executions wait for an executor where none is registered; then they fail.",
    )
    callback_workers: Workers = _setting(
        6, "Transactions that store results at the same time, at most, 1 to 20; the others wait their turn."
    )
    breaker_failures: Count = _setting(
        5, "Requests in a row that fail before an executor is left alone for a while, though it answers probes."
    )
    breaker_pause: Duration = _setting(
        _seconds(5), "How long it is left alone before one more is tried; doubled each time, up to twelve times."
    )
    unknown_bound: Duration = _setting(
        _seconds(60), "How long an execution waits for an executor that is left alone before it fails."
    )
    offer_bound: Duration = _setting(
        timedelta(days=1), "How long an execution waits in a queue for an executor to take it before it fails."
    )
    lost_after: Duration = _setting(
        timedelta(minutes=10), "An execution whose executor is gone this long is failed as lost."
    )
    silent_after: Duration = _setting(
        _seconds(35),
        "An executor of queues that is silent this long after cluster.dead_after has lost what it had; never longer "
        "than lost_after, and a job may have its own.",
    )
    lost_scan: Duration = _setting(_seconds(60), "How often lost executions are looked for.")
    timeout_grace: Duration = _setting(
        _seconds(10),
        "How long after its time limit an execution is ended whose executor did not end it; one of ours gets six times "
        "as long, for it keeps the limit itself.",
    )
    batch_limit: Count = _setting(10_000, "Fires one batch may have, at most.")
    default_timezone: Zone = _setting("UTC", "Time zone of jobs that name none.")
    max_body: Bytes = _setting(1024 * 1024, "Largest request body accepted.")
    script_size: SourceBytes = _setting(
        64 * 1024, "Largest code of a job; up to 1 MiB, which is what a trigger may carry."
    )
    script_versions: Count = _setting(30, "Versions kept of the code of each job; the oldest go first.")


class ExecutorSection(Section):
    """One executor process: who it is, how work reaches it, and how it reports."""

    app_name: OptionalName = _setting(
        None, "Group it belongs to. Unset: the name given in the code it runs.", option="--app-name"
    )
    listen: Listen = _setting(Address("127.0.0.1", 9999), "Where it takes triggers.", option="--listen")
    address: OptionalUrl = _setting(
        None, "URL under which coordinators reach it. Unset: derived from listen.", option="--address"
    )
    coordinators: Urls = _setting(
        ("http://127.0.0.1:5080",), "Coordinators it registers with and reports to.", option="--coordinators"
    )
    transport: Transport = _setting(
        "push",
        "How work arrives: push (requests to its address) or queue (it competes on a channel).",
        option="--transport",
    )
    queue: Queues = _setting(
        ("default",),
        "Queues it competes on with transport queue; jobs name one of them. With redis:// channels it takes from Redis "
        "itself, else through its coordinators.",
        option="--queue",
    )
    queue_concurrency: Count = _setting(
        32, "Executions it holds at once with transport queue, running or waiting for their job; it takes no more."
    )
    queue_heartbeat: Duration = _setting(_seconds(10), "How often it says that it lives with transport queue.")
    data_dir: Folder = _setting(Path(".orth/executor"), "Where it keeps logs and unsent results.", option="--data-dir")
    labels: Labels = _setting(
        (), "What jobs may choose it by, such as zone=eu or gpu=a100; at most 32. In the file also a table."
    )
    heartbeat: Duration = _setting(_seconds(30), "How often it says that it lives.")
    idle_thread: Duration = _setting(_seconds(90), "How long a job's thread waits for work before it ends.")
    callback_retry: Duration = _setting(
        _seconds(30), "Pause before results that could not be delivered are sent again."
    )
    drain_timeout: Duration = _setting(_seconds(60), "How long running executions may take to end when it stops.")
    finish_queue: Switch = _setting(
        False,
        "Whether, when it stops, executions that wait for their job are carried out too, within drain_timeout; else "
        "they are reported as not executed at once. With transport queue they are given back instead.",
    )
    call_timeout: Duration = _setting(_seconds(3), "How long a coordinator may take to answer.")
    show_token: Switch = _setting(
        False,
        "Whether coordinators that do not sign, such as an xxl-job admin, are shown the access token, and may ask for "
        "work with it. A coordinator that once signed is never shown it.",
    )
    token_until_registered: Switch = _setting(
        False,
        "Whether the token alone is enough to ask it for work before a coordinator has taken its first beat: for one "
        "of another make that has its address by hand while those it registers with are away.",
    )
    queue_limit: Count = _setting(1000, "Triggers waiting per job, at most; more are refused.")
    connections: Count = _setting(
        1000, "Connections it holds at once, at most; never more than half of its descriptors. Idle strangers go first."
    )
    kill_grace: Duration = _setting(
        _seconds(5), "How long an execution that is killed or out of time may take to end before it is left behind."
    )
    abandoned_hold: Duration = _setting(
        timedelta(minutes=5),
        "How long a job with overlap executor waits for an execution that was left behind before the next one runs.",
    )
    scripts: ScriptKinds = _setting(
        (),
        "Kinds of source text from coordinators that it runs: shell, python, powershell, nodejs, php; glue is Python "
        "inside the executor. Each is off unless named, because whoever edits a job can then run anything here.",
    )
    script_env: Variables = _setting(
        (), "Variables of its own environment that scripts and commands see, besides PATH, HOME, LANG and their like."
    )
    script_user: OptionalName = _setting(
        None,
        "User that scripts and commands run as, if the executor is started by root: then they can read neither its "
        "files nor its environment. Scripts of one user can read each other's secrets: use one for each group. Unset: "
        "its own, which scripts_share_user must allow.",
    )
    scripts_share_user: Switch = _setting(
        False,
        "Whether scripts, commands and glue may run as the executor's own user, who can read its token and the secrets "
        "of other jobs. Without it an executor starts with them only where script_user is another user, and with glue "
        "never.",
    )
    script_limits: ProcessLimits = _setting(
        (),
        "What a script or command may use, such as cpu=60, memory=1073741824: processor seconds, address space and "
        "size of each file in bytes, processes of its user, open files of each process. In the file also a table.",
    )
    process_limits: ProcessLimits = _setting(
        (), 'The same for handlers with isolation="process"; cpu is what one execution may use.'
    )
    python: OptionalProgram = _setting(None, "Interpreter of Python scripts. Unset: the one the executor runs with.")
    builtin: BuiltinHandlers = _setting(
        (), "Built-in handlers that it offers: command (runs a program of this machine), http (makes a request)."
    )
    http_loopback: Switch = _setting(
        False, "Whether the built-in handler http may call this machine itself by its loopback address."
    )
    warm_workers: CountFromZero = _setting(2, 'Idle worker processes kept ready for handlers with isolation="process".')


class ConsoleSection(Section):
    """The web console."""

    base_url: OptionalUrl = _setting(
        None, "Public URL of the console, for links in messages. Unset: derived from coordinator.listen."
    )
    origins: OptionalUrls = _setting(
        (), "Other origins whose pages may call the API and open sockets, such as https://orth.example.com."
    )


class LogsSection(Section):
    """What handlers write."""

    dir: OptionalFolder = _setting(None, "Where logs are kept. Unset: logs in the data directory.")
    retention: Duration = _setting(timedelta(days=30), "How long they are kept.")
    file_limit: Bytes = _setting(
        1024 * 1024 * 1024, "Largest log of one execution; of what comes after that only the last 256 KiB are kept."
    )

    archive: Archive = _setting(
        "none",
        "Where coordinators keep the logs of executions that have ended, so that they outlive their executor: none, "
        "store (the database) or folder (archive in the data directory; several coordinators need to share it).",
    )
    archive_limit: Bytes = _setting(
        8 * 1024 * 1024, "Text kept of one log in the archive; of a longer one its beginning and its last lines."
    )
    follow_poll: Duration = _setting(
        _seconds(0.5), "How often a log that somebody follows is read from an executor that cannot say when it grows."
    )
    follow_poll_longest: Duration = _setting(
        _seconds(0.8), "The same while nothing new comes; an executor that answers slowly is asked less often."
    )
    streams: Count = _setting(500, "Logs followed at the same time through one coordinator, at most.")
    streams_per_user: Count = _setting(50, "Of these by one user, at most.")

    def dir_below(self, data_dir: Path) -> Path:
        """The directory of logs for a process that keeps its files in ``data_dir``."""
        return self.dir or data_dir / "logs"


class RetentionSection(Section):
    """How long history stays in the database."""

    executions: Duration = _setting(
        timedelta(days=30), "How long ended executions are kept, with their notes, dead letters, alarms and batches."
    )
    fires: Duration = _setting(timedelta(days=30), "How long the ledger of fires, run or skipped, is kept.")
    statistics: Duration = _setting(timedelta(days=400), "How long counts per hour and daily reports are kept.")
    audit: Duration = _setting(timedelta(days=365), "How long the record of who changed what is kept.")


class SecuritySection(Section):
    """Credentials. Without them nothing listens on an address other machines can reach."""

    access_token: Secret = _setting(None, "Token that coordinators and executors show each other.")
    admin_password: Secret = _setting(
        None, "Password of the first user, admin. Unset: one is made and shown once at the first start."
    )
    master_key: Secret = _setting(
        None,
        "Key that seals what is secret in the database: 32 bytes in hex or base64, the same on all coordinators; "
        "several, the newest first, while keys change. Unset: made from access_token; without that, one is made "
        "and kept in the data directory.",
    )
    secrets_without_tls: Switch = _setting(
        False, "Whether secrets of jobs may go to executors on other machines unencrypted, where others can read along."
    )
    access_token_ttl: Duration = _setting(timedelta(hours=1), "How long a sign-in is good without being refreshed.")
    refresh_token_ttl: Duration = _setting(timedelta(days=7), "How long it can be refreshed; each time begins anew.")
    session_idle: Duration = _setting(timedelta(hours=12), "How long a browser stays signed in without being used.")
    session_ttl: Duration = _setting(timedelta(days=30), "How long anybody stays signed in, at most.")
    allowed_hosts: Hosts = _setting(
        (),
        "Names besides localhost, the address it listens on, coordinator.url and console.base_url under which people "
        "reach a coordinator; requests that name another host and show no credential are refused.",
    )
    trusted_proxies: Networks = _setting(
        (), "Proxies that are believed when they say (X-Forwarded-For, X-Forwarded-Proto) who calls and how."
    )
    oidc_issuer: OptionalUrl = _setting(
        None, "OpenID Connect issuer that people may sign in through. Unset: by password and link only."
    )
    oidc_client_id: OptionalText = _setting(None, "How the issuer knows us.")
    oidc_client_secret: Secret = _setting(None, "Our secret with the issuer. Unset: we are a public client.")
    oidc_scopes: Scopes = _setting(("openid", "profile", "email"), "What is asked of the issuer.")
    oidc_username_claim: OptionalText = _setting("preferred_username", "Claim that holds the user name.")
    oidc_role_claim: OptionalText = _setting(
        None, "Claim that holds what roles follow from, such as groups. Unset: roles are given here."
    )
    oidc_roles: RoleMap = _setting(
        (), "Roles by value of that claim: value=role everywhere, value=role@app-name in one group."
    )
    oidc_create_users: Switch = _setting(
        False, "Whether somebody the issuer knows and we do not becomes a user. If not, users are made before."
    )
    tls_certificate: OptionalFolder = _setting(
        None,
        "Certificate, with what leads to its authority, in a PEM file: coordinators and executors then serve https. "
        "Others are checked against the authorities of the system, or those in the file SSL_CERT_FILE names.",
    )
    tls_key: OptionalFolder = _setting(None, "Private key of the certificate, in a PEM file.")
    tls_client_ca: OptionalFolder = _setting(
        None,
        "Authority, in a PEM file, of the certificates that coordinators and executors show each other. It is trusted "
        "besides the system's.",
    )
    behind_tls_proxy: Switch = _setting(
        False,
        "Whether something in front of what listens does TLS, or the network is known to be safe; without it, and "
        "without a certificate, listening beyond loopback is warned of.",
    )
    tls_verify_clients: Switch = _setting(
        False, "Whether only those may connect that show a certificate of tls_client_ca. Browsers then need one too."
    )
    access_token_previous: Secret = _setting(
        None, "The access token before this one, which coordinators still accept while executors are changed over."
    )
    global_executor_token: Switch = _setting(
        True, "Whether access_token lets executors in. If not, each needs a token of its group (orth token create)."
    )
    require_signatures: Switch = _setting(
        False,
        "Whether our coordinators and executors must sign what they ask of each other: a bare token is refused, and an "
        "executor takes work from its first moment on only from coordinators that have its work key.",
    )
    token_longest: Duration = _setting(timedelta(days=365), "How long an API token may be good for, at most.")
    outbound_allow: Networks = _setting(
        (), "The only networks in which executors are called. Empty: all but those that are never called."
    )
    outbound_deny: Networks = _setting(
        (), "Networks in which nothing is called: no executors, no webhooks, nothing by the built-in handler http."
    )
    outbound_loopback: OptionalSwitch = _setting(
        None,
        "Whether executors on this machine are called by its loopback address. Unset: only while the coordinator "
        "itself listens on loopback.",
    )
    rate: Count = _setting(200, "Requests of one caller to the API in a second, on average.")
    rate_burst: Count = _setting(2_000, "Requests of one caller at once, before that average counts.")
    stranger_rate: Count = _setting(
        20, "Requests in a second, on average, of an address whose callers show no good credential."
    )
    stranger_burst: Count = _setting(400, "Such requests at once, before that average counts.")
    jobs_per_group: CountFromZero = _setting(10_000, "Jobs a group may have, at most; 0: any number.")
    fires_per_minute_per_group: CountFromZero = _setting(
        600_000, "Fires of a group's schedules that run in a minute, at most; others are skipped. 0: any number."
    )

    @property
    def scheme(self) -> str:
        """How addresses begin under which this process is reached."""
        return "http" if self.tls_certificate is None else "https"


class AlarmsSection(Section):
    """Telling people about executions that failed."""

    enabled: Switch = _setting(True, "Whether alarms are sent.")
    quiet: Duration = _setting(
        _seconds(5), "How long a job must not have failed again before its failures are told, in one message."
    )
    gather: Duration = _setting(_seconds(60), "How long failures are gathered for one message, at most.")
    repeat: Duration = _setting(
        timedelta(hours=4), "How often it is told again that a job still fails, unless the job says otherwise."
    )
    timeout: Duration = _setting(_seconds(10), "How long a receiver may take for one message.")
    attempts: Count = _setting(8, "How often a message is tried before it is given up.")
    retry_pause: Duration = _setting(_seconds(10), "Pause before it is tried again; doubled each time.")
    retry_longest: Duration = _setting(timedelta(minutes=10), "The longest such pause.")
    at_once: Count = _setting(16, "Messages on their way at the same time, at most.")
    smtp_host: OptionalText = _setting(
        None, "Mail server for the addresses that jobs name (alarm_email). Unset: they get no mail."
    )
    smtp_port: Count = _setting(587, "Its port.")
    smtp_security: MailSecurity = _setting(
        "starttls", "none; starttls (encrypt before anything is said, or not at all); tls (usually port 465)."
    )
    smtp_username: OptionalText = _setting(None, "Name to sign in to it with. Unset: without signing in.")
    smtp_password: Secret = _setting(None, "Password to sign in to it with.")
    smtp_sender: OptionalText = _setting(None, "Address mails come from. Unset: orth@ and the name of the mail server.")
    ca_file: OptionalFolder = _setting(None, "Certificates that are trusted besides the system's, in one PEM file.")
    allow_local: Switch = _setting(
        False, "Whether channels may lead to this machine. Where clouds keep credentials, nothing ever leads."
    )
    outbound_allow: Networks = _setting(
        (),
        "The only networks in which webhooks and mail servers are called. Empty: all but those that are never called.",
    )
    apprise: Switch = _setting(
        False, "Whether channels may use apprise, which connects to wherever its URLs say (needs the extra notify)."
    )


class MetricsSection(Section):
    """What monitoring may read."""

    enabled: Switch = _setting(True, "Whether /metrics is served.")


class ApphostSection(Section):
    """What ``orth up`` starts."""

    executors: CountFromZero = _setting(3, "Executors it starts: agent-1, agent-2 and so on.", option="--executors")
    coordinators: Count = _setting(2, "Coordinators it starts.", option="--coordinators")
    registry: Switch = _setting(
        True, "Whether it starts a process for the Registry API alone. If not, the coordinators are the registry."
    )
    console: Switch = _setting(True, "Whether it starts a process for the console alone.")
    demo: Switch = _setting(True, "Whether its executors run the demo jobs where there is no jobs.py.", option="--demo")
    registry_port: Port = _setting(5060, "Port of the registry; of this and the following, 0 is any free one.")
    console_port: Port = _setting(5070, "Port of the console, which also serves the API: browsers refuse port 5060.")
    coordinator_port: OptionalPort = _setting(
        None, "Port of the first coordinator; the others follow. Unset: the port of coordinator.listen."
    )
    executor_port: Port = _setting(5090, "Port of the first executor; the others follow.")
    dashboard_port: OptionalPort = _setting(None, "Port that leads a browser on to the console. Unset: none.")
    suffix: OptionalHost = _setting(
        None, "Domain of host names for what it starts, used where they lead to this machine. Unset: 127.0.0.1."
    )
    registry_host: Host = _setting("apphost", "Host name of the registry, before the domain.")
    coordinator_host: Host = _setting("orchestrator", "Host name of the coordinators; their ports tell them apart.")
    executor_host: Host = _setting("worker-agent", "Host name of the executors, each with its number after it.")
    console_host: Host = _setting("viz", "Host name of the console.")
    tls: Switch = _setting(
        False, "Whether all of it speaks TLS, with certificates of an authority made for this folder.", option="--tls"
    )
    ready_within: Duration = _setting(_seconds(30), "How long each may take to answer after its start.")
    kept_by: OptionalFolder = _setting(
        None, "Folder of the `orth up` that keeps this process, which says so itself. Unset: none does."
    )


class Sections(Section):
    """All sections: one struct for every role, so that one file serves a whole cluster."""

    store: StoreSection = StoreSection()
    channels: ChannelsSection = ChannelsSection()
    cluster: ClusterSection = ClusterSection()
    registry: RegistrySection = RegistrySection()
    coordinator: CoordinatorSection = CoordinatorSection()
    executor: ExecutorSection = ExecutorSection()
    console: ConsoleSection = ConsoleSection()
    logs: LogsSection = LogsSection()
    retention: RetentionSection = RetentionSection()
    security: SecuritySection = SecuritySection()
    alarms: AlarmsSection = AlarmsSection()
    metrics: MetricsSection = MetricsSection()
    apphost: ApphostSection = ApphostSection()

    def value(self, key: str) -> object:
        """The value of a dotted key such as ``store.url``."""
        section, _, name = key.partition(".")
        return getattr(getattr(self, section), name)

    @property
    def calls_loopback(self) -> bool:
        """Whether a coordinator calls its own machine by its loopback address: as set, or while nobody from elsewhere
        can tell it to.
        """
        chosen = self.security.outbound_loopback
        return self.coordinator.listen.is_loopback if chosen is None else chosen

    @property
    def store_url(self) -> str:
        """The database to open: as set, or the file in the coordinator's data directory."""
        return self.store.url or f"sqlite:///{self.coordinator.data_dir / 'orth.db'}"

    @property
    def channels_url(self) -> str:
        """The channels a coordinator opens: as set, or such that all who share the database hear each other; one that
        has a file for itself needs nobody.
        """
        return self.channels.url or ("memory://" if self.store_url.startswith("sqlite") else "database://")
