"""The way out as mail.

The conversation with the server is the standard library's, in a thread of its own: it waits, and nothing else should.
One deadline holds for the whole of it: when it has passed, the connection is cut from outside, so that a server that
says one byte a minute keeps a thread no longer than one that says nothing.
"""

import asyncio
import smtplib
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime
from pathlib import Path
from ssl import SSLContext, SSLError

from orth.coordinator.alarming.outbound import NotDelivered, trusted
from orth.coordinator.alarming.texts import Alarm
from orth.wire.answer_reader import AnswerReader
from orth.wire.network_reasons import network_reason
from orth.wire.outbound import Outbound, Resolved, connect_first

_THREADS = 8
_SUBJECT_LIMIT = 200


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail is handed over. ``local`` ones, which the settings name, may be on this machine."""

    host: str
    port: int
    security: str
    username: str | None = None
    password: str | None = None
    sender: str | None = None
    local: bool = False

    @property
    def from_address(self) -> str:
        return self.sender or f"orth@{self.host}"


class MailSender:
    """Hands mails over to servers."""

    def __init__(self, now: Callable[[], int], *, timeout: float, outbound: Outbound, ca_file: Path | None) -> None:
        self._now = now
        self._timeout = timeout
        self._outbound = outbound
        self._ca_file = ca_file
        self._threads = ThreadPoolExecutor(_THREADS, "orth-mail")

    async def send(self, server: MailServer, recipients: tuple[str, ...], alarm: Alarm) -> str:
        """Send one and give the answer of the server in short."""
        if not recipients:
            raise NotDelivered.of("nobody_to_tell")
        outbound = replace(self._outbound, loopback=True) if server.local else self._outbound
        talk = _Talk(server, self._timeout, trusted(self._ca_file))
        mail = mail_of(server, recipients, alarm, self._now())
        home = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout):
                found = await outbound.resolve(server.host, server.port)
                return await home.run_in_executor(self._threads, talk.deliver, found, recipients, mail)
        except TimeoutError as error:
            raise NotDelivered.of("mail_server_silent", host=server.host, seconds=f"{self._timeout:g}") from error
        except smtplib.SMTPRecipientsRefused as error:
            raise NotDelivered.of("mail_refused", host=server.host, said=_refusals(error.recipients)) from error
        except smtplib.SMTPResponseException as error:
            said = _text(error.smtp_error)
            raise NotDelivered.of("mail_answered", host=server.host, number=error.smtp_code, said=said) from error
        except (smtplib.SMTPException, SSLError, OSError, UnicodeError) as error:  # the last: not ASCII
            is_word_of_server = isinstance(error, smtplib.SMTPNotSupportedError)
            said = str(error) if is_word_of_server else f"it {network_reason(error)}"
            raise NotDelivered.of("mail_failed", host=server.host, said=said) from error
        finally:
            talk.cut()

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class _Talk:
    """One conversation with a server, which may be cut from another thread."""

    def __init__(self, server: MailServer, timeout: float, context: SSLContext) -> None:
        self._server = server
        self._timeout = timeout
        self._context = context
        self._line: socket.socket | None = None
        self._over = False

    def deliver(self, found: Sequence[Resolved], recipients: tuple[str, ...], mail: bytes) -> str:
        server = self._server
        self._line = connect_first(found, self._timeout)
        if self._over:
            self.cut()
        line = self._line
        if server.security == "tls":
            line = self._line = self._context.wrap_socket(line, server_hostname=server.host)
        client = _Client(line, server.host, self._timeout)
        try:
            if server.security == "starttls":
                client.starttls(context=self._context)  # raises where the server does not offer it: never in the clear
                self._line = client.sock
            if server.username is not None:
                client.login(server.username, server.password or "")
            return _handed_over(client, server.from_address, recipients, mail)
        finally:
            client.close()

    def cut(self) -> None:
        """End it, whatever it waits for."""
        self._over = True
        if self._line is not None:
            try:
                self._line.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it was over already


class _Client(smtplib.SMTP):
    """The standard client on a connection that is there already."""

    def __init__(self, line: socket.socket, host: str, timeout: float) -> None:
        super().__init__(timeout=timeout, local_hostname="orth")
        self.sock = line
        self._host = host  # what starttls checks the certificate against
        code, answer = self.getreply()
        if code != 220:
            raise smtplib.SMTPConnectError(code, answer)

    def getreply(self) -> tuple[int, bytes]:
        """The next reply. Of all of a connection there may be few lines: a reply may have any number of them."""
        if self.file is None and self.sock is not None:  # at the beginning, and when it is encrypted from here on
            self.file = AnswerReader(self.sock)
        return super().getreply()


def _handed_over(client: smtplib.SMTP, sender: str, recipients: tuple[str, ...], mail: bytes) -> str:
    client.ehlo_or_helo_if_needed()
    _expect(client.mail(sender), 250)
    refused = {}
    for recipient in recipients:
        code, answer = client.rcpt(recipient)
        if code not in (250, 251):
            refused[recipient] = (code, answer)
    if len(refused) == len(recipients):
        raise smtplib.SMTPRecipientsRefused(refused)
    code, answer = client.data(mail)
    _expect((code, answer), 250)
    some = f" (refused: {_refusals(refused)})" if refused else ""
    return f"{code} {_text(answer)}{some}"


def _expect(answer: tuple[int, bytes], code: int) -> None:
    if answer[0] != code:
        raise smtplib.SMTPResponseException(answer[0], answer[1])


def mail_of(server: MailServer, recipients: tuple[str, ...], alarm: Alarm, now: int) -> bytes:
    """The mail. Names of jobs end up in its headers, so whatever is not printable is replaced first; the library then
    encodes, folds, and refuses line breaks itself.
    """
    mail = EmailMessage(policy=SMTP_POLICY)
    mail["Subject"] = _line(f"[Orth] {alarm.title}")
    mail["From"] = server.from_address
    mail["To"] = ", ".join(recipients)
    mail["Date"] = format_datetime(datetime.fromtimestamp(now / 1000, UTC))
    mail["Message-ID"] = f"<{alarm.message_id}@{server.from_address.partition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail["X-Orth-Message-Id"] = alarm.message_id
    mail.set_content(f"{alarm.title}\n\n{alarm.text}\n".encode("utf-8", "replace").decode())
    return mail.as_bytes()


def _line(text: str) -> str:
    clean = "".join(c if c.isprintable() else " " for c in text).encode("utf-8", "replace").decode()
    # The library decodes words that look encoded, and writes what was in them, line breaks too, as it is.
    return clean.replace("=?", "= ?")[:_SUBJECT_LIMIT]


def _refusals(refused: dict[str, tuple[int, bytes]]) -> str:
    return ", ".join(f"{name} ({code} {_text(answer)})" for name, (code, answer) in refused.items())


def _text(answer: bytes | str) -> str:
    return (answer if isinstance(answer, str) else answer.decode("utf-8", "replace"))[:200]
