"""Receivers of alarms: real servers on loopback that note what they were sent and answer as they were told to."""

import base64
import datetime
import ipaddress
import json
import socket
import socketserver
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self, cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.servers.processes import wait_until

HANG = 0
"""An answer that never comes."""


@dataclass(frozen=True)
class Posted:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class WebhookReceiver:
    """Answers requests with ``answers``, one after the other, and the last one for ever: a status, or HANG."""

    def __init__(self, *answers: int, body: bytes = b"ok", headers: Mapping[str, str] | None = None) -> None:
        self.answers = list(answers) or [200]
        self.body = body
        self.headers = dict(headers or {})
        self.posted: list[Posted] = []
        self._over = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.posted.append(Posted(self.path, dict(self.headers), sent))
                answers = receiver.answers
                status = answers.pop(0) if len(answers) > 1 else answers[0]
                if status == HANG:
                    receiver._over.wait(60)
                    return
                self.send_response(status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(receiver.body)))
                self.end_headers()
                self.wfile.write(receiver.body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook/very-secret-path"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()

    def wait_for(self, count: int, within: float = 30.0) -> list[Posted]:
        wait_until(lambda: len(self.posted) >= count, f"{count} requests", within)
        return list(self.posted)


@dataclass
class MailReceiver:
    """A mail server: STARTTLS or TLS with a certificate, signing in with a name and a password.

    ``refuses`` maps a verb to the answer it gets instead; a verb in ``hangs`` gets none.
    """

    certificate: Path | None = None
    security: str = "none"
    sign_in: tuple[str, str] | None = None
    refuses: dict[str, str] = field(default_factory=dict)
    hangs: frozenset[str] = frozenset()
    trickles: bool = False
    mails: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        receiver = self
        self.over = threading.Event()

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                _Conversation(receiver, self.request).hold()

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()

    def context(self) -> ssl.SSLContext:
        assert self.certificate is not None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.certificate.with_suffix(".key"))
        return context


class _Conversation:
    """One connection to a mail server."""

    def __init__(self, receiver: MailReceiver, line: socket.socket) -> None:
        self._receiver = receiver
        self._line = line
        self._tls = False
        self._signed_in = receiver.sign_in is None
        self._to: list[str] = []

    def hold(self) -> None:
        try:
            if self._receiver.security == "tls":
                self._encrypt()
            if self._receiver.trickles:
                while not self._receiver.over.wait(0.1):
                    self._line.sendall(b"2")
            if not self._hangs("CONNECT"):
                self._say(self._receiver.refuses.get("CONNECT", "220 tests ESMTP"))
                while self._turn():
                    pass
        except (OSError, ssl.SSLError):
            return

    def _hangs(self, verb: str) -> bool:
        if verb in self._receiver.hangs:
            self._receiver.over.wait(60)
            return True
        return False

    def _turn(self) -> bool:
        line = self._file.readline()
        if not line:
            return False
        text = line.decode().rstrip("\r\n")
        self._receiver.lines.append(text)
        verb = text.split(" ")[0].split(":")[0].upper()
        if self._hangs(verb):
            return False
        if verb in self._receiver.refuses:
            self._say(self._receiver.refuses[verb])
            return True
        return self._answer(verb, text)

    def _answer(self, verb: str, text: str) -> bool:
        if verb == "EHLO":
            offers = ["tests"]
            if self._receiver.security == "starttls" and not self._tls:
                offers.append("STARTTLS")
            if self._receiver.sign_in:
                offers.append("AUTH PLAIN")
            self._say(*[f"250{'-' if n < len(offers) - 1 else ' '}{offer}" for n, offer in enumerate(offers)])
        elif verb == "STARTTLS":
            self._say("220 go ahead")
            self._encrypt()
        elif verb == "AUTH":
            name, password = base64.b64decode(text.split(" ")[2]).decode().split("\x00")[1:]
            self._signed_in = (name, password) == self._receiver.sign_in
            self._say("235 welcome" if self._signed_in else "535 5.7.8 wrong")
        elif verb == "MAIL":
            self._to = []
            self._say("250 ok" if self._signed_in else "530 5.7.0 sign in first")
        elif verb == "RCPT":
            self._to.append(text.partition("<")[2].partition(">")[0])
            self._say("250 ok")
        elif verb == "DATA":
            self._say("354 go ahead")
            self._take()
        elif verb == "QUIT":
            self._say("221 bye")
            return False
        else:
            self._say("250 ok")
        return True

    def _take(self) -> None:
        body = b""
        while (line := self._file.readline()) not in (b".\r\n", b""):
            body += line
        receiver = self._receiver
        receiver.recipients.append(self._to)
        receiver.encrypted.append(self._tls)
        receiver.mails.append(cast(EmailMessage, message_from_bytes(body, policy=policy.SMTP)))
        self._say("250 2.0.0 queued as 42")

    def _encrypt(self) -> None:
        self._line = self._receiver.context().wrap_socket(self._line, server_side=True)
        self._tls = True
        self.__dict__.pop("_reading", None)

    @property
    def _file(self) -> Any:
        if "_reading" not in self.__dict__:
            self._reading = self._line.makefile("rb")
        return self._reading

    def _say(self, *lines: str) -> None:
        self._line.sendall("".join(f"{line}\r\n" for line in lines).encode())


def self_signed(folder: Path) -> Path:
    """A certificate for localhost and 127.0.0.1 in a file, its key in the one beside it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "server.pem"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.with_suffix(".key").write_bytes(private)
    return file
