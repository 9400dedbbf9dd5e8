"""What one executor process runs with: the settings of every role narrowed to its own, and what follows from them."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from orth.channels.limits import Limits
from orth.errors import CannotStart
from orth.lifecycle.settings import chosen_coordinators
from orth.settings import Address, Settings
from orth.wire.outbound import Outbound

TOKEN_FILE = "access-token"  # noqa: S105  # the name of a file, not a secret


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorSettings:
    """Settings of one executor; spans are in seconds. The defaults are those of the settings file."""

    app_name: str
    access_token: str
    data_dir: Path
    logs_dir: Path
    coordinators: tuple[str, ...] = ("http://127.0.0.1:5080",)
    heartbeat: float = 30.0
    idle_thread: float = 90.0
    callback_retry: float = 30.0
    drain_timeout: float = 60.0
    finish_queue: bool = False
    call_timeout: float = 3.0
    queue_limit: int = 1000
    connections: int = 1000
    log_retention: float = 30 * 86_400.0
    log_file_limit: int = 1024 * 1024 * 1024
    metrics: bool = True
    require_signatures: bool = False
    show_token: bool = False
    token_until_registered: bool = False
    kill_grace: float = 5.0
    abandoned_hold: float = 300.0
    scripts: tuple[str, ...] = ()
    script_env: tuple[str, ...] = ()
    script_user: str | None = None
    scripts_share_user: bool = False
    script_limits: tuple[str, ...] = ()
    process_limits: tuple[str, ...] = ()
    python: Path | None = None
    builtin: tuple[str, ...] = ()
    http_outbound: Outbound = field(
        default_factory=lambda: Outbound(loopback=False, loopback_setting="executor.http_loopback")
    )
    """Where the built-in handler for requests may connect to."""
    warm_workers: int = 2
    labels: Mapping[str, str] = field(default_factory=dict)
    transport: str = "push"
    queues: tuple[str, ...] = ("default",)
    queue_concurrency: int = 32
    queue_heartbeat: float = 10.0
    queue_log_limit: int = 8 * 1024 * 1024
    channels_url: str = ""
    """Empty, or anything but Redis: through the coordinators."""
    channels_prefix: str = "orchestrix"
    channels_limits: Limits = field(default_factory=Limits)

    @classmethod
    def of(cls, settings: Settings, app_name: str | None) -> "ExecutorSettings":
        """The executor's share of ``settings``; ``app_name`` is what the code calls itself.

        Paths are relative to the working directory of this moment: a handler, or the program around us, may change it.
        """
        own = settings.executor
        name = own.app_name or app_name
        if not name:
            raise CannotStart("The executor has no app name.", hint='Write Executor("my-app"), or pass --app-name.')
        return cls(
            app_name=name,
            access_token=access_token(settings),
            data_dir=own.data_dir.absolute(),
            logs_dir=settings.logs.dir_below(own.data_dir).absolute(),
            coordinators=chosen_coordinators(settings) or (settings.registry.url or "",),
            heartbeat=own.heartbeat.total_seconds(),
            idle_thread=own.idle_thread.total_seconds(),
            callback_retry=own.callback_retry.total_seconds(),
            drain_timeout=own.drain_timeout.total_seconds(),
            finish_queue=own.finish_queue,
            call_timeout=own.call_timeout.total_seconds(),
            queue_limit=own.queue_limit,
            connections=own.connections,
            log_retention=settings.logs.retention.total_seconds(),
            log_file_limit=settings.logs.file_limit,
            metrics=settings.metrics.enabled,
            require_signatures=settings.security.require_signatures,
            show_token=own.show_token,
            token_until_registered=own.token_until_registered,
            kill_grace=own.kill_grace.total_seconds(),
            abandoned_hold=own.abandoned_hold.total_seconds(),
            scripts=own.scripts,
            script_env=own.script_env,
            script_user=own.script_user,
            scripts_share_user=own.scripts_share_user,
            script_limits=own.script_limits,
            process_limits=own.process_limits,
            python=_program(own.python),
            builtin=own.builtin,
            http_outbound=Outbound(
                deny=settings.security.outbound_deny,
                loopback=own.http_loopback,
                loopback_setting="executor.http_loopback",
            ),
            warm_workers=own.warm_workers,
            labels=dict(label.split("=", 1) for label in own.labels),
            transport=own.transport,
            queues=own.queue,
            queue_concurrency=own.queue_concurrency,
            queue_heartbeat=own.queue_heartbeat.total_seconds(),
            queue_log_limit=settings.logs.archive_limit,
            channels_url=settings.channels.url or "",
            channels_prefix=settings.channels.prefix,
            channels_limits=Limits(
                queue=settings.channels.queue_limit,
                box=settings.channels.box_limit,
                message=settings.channels.message_limit,
            ),
        )


def _program(name: str | None) -> Path | None:
    """A name alone is looked up when it is needed; with a folder, be it ``./``, it is a file."""
    if name is None:
        return None
    return Path(name).absolute() if os.sep in name else Path(name)


def access_token(settings: Settings) -> str:
    """The token coordinators and this executor show each other: as set, or the one a coordinator beside us has made."""
    given = settings.security.access_token
    if given is not None and given.get_secret_value():
        return given.get_secret_value()
    listen = settings.executor.listen
    if not listen.is_loopback:
        raise CannotStart(
            f"Listening on {listen} lets other machines in, and there is no access token.",
            hint="Set security.access_token. Only on 127.0.0.1 that of a coordinator beside it is taken.",
        )
    path = Path(settings.coordinator.data_dir) / TOKEN_FILE
    try:
        return path.read_text(encoding="utf-8").strip() or _no_token(path)
    except FileNotFoundError:
        return _no_token(path)
    except (OSError, UnicodeDecodeError) as error:
        raise CannotStart(f"The access token in {path} cannot be read: {error}.") from None


def _no_token(path: Path) -> str:
    raise CannotStart(
        f"There is no access token: security.access_token is not set and {path} does not hold one.",
        hint="Start a coordinator in this directory first, or set ORTH_SECURITY__ACCESS_TOKEN to its token.",
    )


def base_url(listen: Address, port: int, coordinator: str, scheme: str = "http") -> str:
    """Under which URL coordinators reach a process that listens there, on ``port``."""
    host = _outward_host(coordinator) if listen.is_every_interface else listen.host
    return f"{scheme}://{Address(host, port)}"


def _outward_host(coordinator: str) -> str:
    """The address of the interface that faces the coordinator. Connecting a datagram socket sends nothing."""
    parts = urlsplit(coordinator)
    hint = "Say under which URL coordinators reach this executor: --address or executor.address."
    try:
        family, kind, _, _, target = socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(target)
            return str(probe.getsockname()[0])
    except OSError as error:
        raise CannotStart(f"The way to {coordinator} cannot be found: {error}.", hint=hint) from None
