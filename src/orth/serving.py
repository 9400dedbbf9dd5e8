"""How a process of ours serves HTTP and stops: its port, its signals, its event loop.

The port is bound before anything is announced, so an address others learn is one that answers. The first SIGTERM or
SIGINT asks for a stop in good order; the second ends the process at once, after its last words. A forked child has
neither the port nor its connections nor the signal handlers: its life and its end are its own.
"""

import asyncio
import errno
import logging
import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import uvicorn

from orth.connections import Connections, affordable_backlog
from orth.errors import CannotStart
from orth.events import Events
from orth.forked import let_go_in_child
from orth.handshakes import Handshakes
from orth.http_guard import GuardedHttp
from orth.settings import Address, Settings
from orth.threads import is_shortage

log = logging.getLogger("orth.serving")

_BACKLOG = 2048
CONNECTIONS = 10_000
_LAST_ANSWERS = 3
_LAST_WORDS = 0.7
"""Seconds that a process may still take when it was told twice to end."""
_MESSAGE_LIMIT = 64 * 1024
"""Bytes of a message that comes over a WebSocket."""
_PING_EVERY = 20.0
_STOPS = (signal.SIGTERM, signal.SIGINT)
STAND_ASIDE = signal.SIGUSR1
"""Asks a coordinator to lead no more: all are about to stop."""
_WITHOUT_US: dict[signal.Signals, Any] = {
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGINT: signal.default_int_handler,
    signal.SIGHUP: signal.SIG_DFL,
    STAND_ASIDE: signal.SIG_DFL,
}


@contextmanager
def bound(listen: Address) -> Iterator[socket.socket]:
    """A socket that listens there; connections wait in its queue until the server takes them."""
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        listening = _listening(family, listen)
    except OSError as error:
        hint = "Choose another with --listen HOST:PORT."
        if error.errno == errno.EADDRINUSE:
            raise CannotStart(f"Port {listen.port} on {listen.host} is taken.", hint=hint) from None
        raise CannotStart(f"Cannot listen on {listen}: {error.strerror or error}.", hint=hint) from None
    # Not ``close``: it waits for those who use the socket, and the child's copy of the event loop never lets it go.
    keep_in_child = let_go_in_child(lambda: os.close(listening.detach()))
    try:
        with listening:
            yield listening
    finally:
        keep_in_child()


def _listening(family: int, listen: Address) -> socket.socket:
    # The protocol is named, as ``socket.create_server`` does not: asyncio sets TCP_NODELAY only where it sees TCP, and
    # without it every answer waits for the other side's delayed acknowledgement.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((listen.host, listen.port))
        listening.listen(_BACKLOG)
    except BaseException:
        listening.close()
        raise
    return listening


class Tls(NamedTuple):
    """The files a server speaks TLS with."""

    certificate: Path
    key: Path
    client_authority: Path | None = None
    """Who vouches for those who may connect; None: anybody may."""


def tls_of(settings: Settings) -> Tls | None:
    """The files, tried, if https is to be served."""
    certificate, key = settings.security.tls_certificate, settings.security.tls_key
    if certificate is None or key is None:
        return None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except OSError as error:
        hint = "Correct security.tls_certificate and security.tls_key."
        raise CannotStart(f"No TLS with {certificate} and {key}: {error.strerror or error}.", hint=hint) from None
    return Tls(certificate, key, _client_authority(settings))


def _client_authority(settings: Settings) -> Path | None:
    """The file, tried, if those who connect have to show a certificate."""
    authority = settings.security.tls_client_ca
    if not settings.security.tls_verify_clients or authority is None:
        return None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(authority)
    except OSError as error:
        hint = "Correct security.tls_client_ca."
        raise CannotStart(f"No authority in {authority}: {error.strerror or error}.", hint=hint) from None
    return authority


class Config(uvicorn.Config):
    """With the bound on connections, which each of them finds here, and an ear for failed handshakes."""

    connections: Connections
    handshakes: Handshakes

    def load(self) -> None:
        super().load()
        if self.ssl is not None:
            self.handshakes.watch(self.ssl)


class GuestConfig(Config):
    """For a program that may run Uvicorn itself: the levels and handlers of its loggers are the program's."""

    def configure_logging(self) -> None:
        return


class WithoutAccessLog(GuardedHttp):
    """Our requests do not belong in the program's access log, whatever it does with its own."""

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self.access_log = False


def _socket_protocol() -> Any:
    """Ours, where this version of Uvicorn has what it is made from."""
    try:
        from orth.socket_guard import GuardedSocket
    except ImportError:
        return "auto"
    return GuardedSocket


class Server(uvicorn.Server):
    """Uvicorn without its signal handlers: stopping begins with our own order, not with closing the port."""

    def __init__(
        self,
        app: Any,
        *,
        keep_alive: int,
        connections: int = CONNECTIONS,
        events: Events | None = None,
        embedded: bool = False,
        websockets: bool = True,
        tls: Tls | None = None,
    ) -> None:
        """At most ``connections`` at once, and no more than the descriptors allow; ``events`` hears of those closed."""
        config = (GuestConfig if embedded else Config)(
            app,
            http=WithoutAccessLog,
            ws=_socket_protocol() if websockets else "none",
            ws_max_size=_MESSAGE_LIMIT,
            ws_ping_interval=_PING_EVERY,
            ws_per_message_deflate=False,  # what goes to many is written once; compressing is for each
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,  # who may say who calls is a setting, and not whoever is on this machine
            lifespan="off",
            server_header=False,
            backlog=affordable_backlog(_BACKLOG),
            timeout_keep_alive=keep_alive,
            timeout_graceful_shutdown=_LAST_ANSWERS,
            ssl_certfile=None if tls is None else str(tls.certificate),
            ssl_keyfile=None if tls is None else str(tls.key),
            ssl_ca_certs=None if tls is None or tls.client_authority is None else str(tls.client_authority),
            ssl_cert_reqs=ssl.CERT_NONE if tls is None or tls.client_authority is None else ssl.CERT_REQUIRED,
        )
        config.connections = Connections(connections, events)
        config.handshakes = Handshakes(events or Events())
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def on_tick(self, counter: int) -> bool:  # noqa: ARG002  # ten times a second
        """The date in heads of answers is as new each time, and not once a second: pages tell the time by it."""
        return await super().on_tick(0)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        keep_in_child = let_go_in_child(self._hang_up)
        try:
            await super().serve(sockets)
        finally:
            keep_in_child()

    def _hang_up(self) -> None:
        """In a forked child, which would keep connections open when this process is killed, and never answer."""
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for connection in list(self.server_state.connections):
            with suppress(Exception):  # it is closing
                # Replaced, not closed: the child's copy of the event loop goes on believing in the number.
                os.dup2(nothing, connection.transport.get_extra_info("socket").fileno(), inheritable=False)
        os.close(nothing)


def asked_to_stop(asked: asyncio.Event | None = None, last_words: Callable[[], None] = lambda: None) -> asyncio.Event:
    """Set by the first SIGTERM or SIGINT; the second ends the process on the spot, when ``last_words`` has returned or
    has taken too long. ``asked`` may be set by others too, and that is no signal.
    """
    first = asked or asyncio.Event()
    signals = 0

    def on_signal() -> None:
        nonlocal signals
        signals += 1
        if signals > 1:
            _end(last_words)
        first.set()

    _handle(_STOPS, on_signal)
    return first


class LastResort:
    """Ends the process when stopping in good order takes too long, whatever that waits for: a thread that hangs keeps
    an interpreter from ending. Nothing is lost by it that a kill would not lose.
    """

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def end_within(self, seconds: float) -> None:
        """From now on; of several calls the first one counts."""
        if self._timer is None:
            self._timer = threading.Timer(seconds, _give_up, (seconds,))
            self._timer.daemon = True
            self._timer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _give_up(seconds: float) -> None:
    log.error("stopping has taken %g s: this process ends without waiting any longer", seconds)
    _end(logging.shutdown)


def _end(last_words: Callable[[], None]) -> None:
    # In a thread, for it waits for a disk and for others' locks, and whoever says it twice does not want to wait.
    with suppress(RuntimeError):  # no thread to be had
        speaking = threading.Thread(target=last_words, name="orth-last-words", daemon=True)
        speaking.start()
        speaking.join(_LAST_WORDS)
    os._exit(1)


def reload_on_hangup(reload: Callable[[], None], stopping: asyncio.Event) -> None:
    """SIGHUP means ``reload``, unless it says that the terminal this process was started in is gone: that still ends
    it, in good order, or not at all under ``nohup``.
    """
    had_terminal = _has_terminal() and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN

    def on_hangup() -> None:
        if had_terminal and not _has_terminal():
            stopping.set()
        else:
            reload()

    _handle((signal.SIGHUP,), on_hangup)


def stand_aside_on_signal(stand_aside: Callable[[], object]) -> None:
    _handle((STAND_ASIDE,), stand_aside)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _handle(numbers: Sequence[signal.Signals], handler: Callable[[], object]) -> None:
    for number in numbers:
        asyncio.get_running_loop().add_signal_handler(number, handler)
    ours = {number: signal.getsignal(number) for number in numbers}
    let_go_in_child(lambda: _forget_signals(ours))


def _forget_signals(ours: dict[signal.Signals, Any]) -> None:
    """In a forked child: end by signals as any process does, and tell the parent nothing of them."""
    found = [number for number, handler in ours.items() if signal.getsignal(number) == handler]
    for number in found:
        signal.signal(number, _WITHOUT_US[number])
    if found:
        signal.set_wakeup_fd(-1)


@contextmanager
def event_loop() -> Iterator[asyncio.Runner]:
    """A runner whose loop is closed in the end, with or without a thread that waits for those of the loop."""
    runner = asyncio.Runner(loop_factory=loop_factory())
    try:
        yield runner
    finally:
        try:
            runner.close()
        except RuntimeError as error:
            if not is_shortage(error):
                raise


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
