"""Certificates: files that are configured, and those that https addresses show."""

import socket
import ssl
from pathlib import Path
from urllib.parse import urlsplit

from orth.doctor.asking import PATIENCE
from orth.doctor.case import Case
from orth.doctor.validity import NoCertificate, Validity, validity
from orth.doctor.verdicts import Verdict, bad, ok, warn
from orth.wire.trusting import trusting

_DAY = 86_400_000
_SOON = 30 * _DAY
_END = "-----END CERTIFICATE-----"
_OTHERS_READ = 0o004
_NO_PASSWORD = b"-"
"""Rather than being asked for one on the terminal."""


def configured_certificates(case: Case) -> list[str]:
    """https addresses and files with certificates; one that is empty says that there is none."""
    settings = case.settings
    urls = (*case.answerers, settings.coordinator.url, settings.executor.address, settings.console.base_url)
    named = [url for url in urls if url and url.startswith("https:")]
    named += [str(file) for file in (settings.alarms.ca_file, settings.security.tls_certificate, case.ca_file) if file]
    return list(dict.fromkeys(named)) or [""]


def look_at_certificate(case: Case, subject: str) -> list[Verdict]:
    if not subject:
        return [ok("No https address and no certificate is configured.")]
    if subject.startswith("https:"):
        return [_of_address(subject, case.clock.now(), case.ca_file)]
    verdicts = _of_file(Path(subject), case.clock.now())
    security = case.settings.security
    if subject == str(security.tls_certificate) and verdicts[0].state != "bad":
        verdicts += _of_key(subject, security.tls_key)
    return verdicts


def _of_key(certificate: str, key: Path | None) -> list[Verdict]:
    """Whether the private key is there, fits, and is a secret."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_NO_PASSWORD)
    except ssl.SSLError:
        step = "security.tls_key names the PEM file of that key, without a password."
        return [bad(f"{key or certificate} is not the private key of {certificate}.", step)]
    except OSError as error:
        return [bad(f"{key} cannot be read: {error.strerror}.", "Correct security.tls_key, or who may read it.")]
    if key is not None and key.stat().st_mode & _OTHERS_READ:
        return [warn(f"{key} can be read by everybody on this machine.", f"Run: chmod 600 {key}")]
    return []


def _of_file(file: Path, now: int) -> list[Verdict]:
    try:
        text = file.read_text("ascii")
    except OSError as error:
        return [bad(f"{file} cannot be read: {error.strerror}.", "Correct the path, or who may read it.")]
    except UnicodeDecodeError:
        text = ""
    blocks = [f"{block}{_END}" for block in text.split(_END)[:-1]]
    if not blocks:
        return [bad(f"{file} holds no certificate.", "It must be PEM: text with BEGIN CERTIFICATE.")]
    try:
        found = [validity(ssl.PEM_cert_to_DER_cert(block[block.find("-----BEGIN") :])) for block in blocks]
    except (NoCertificate, ValueError):
        return [bad(f"{file} holds a certificate that cannot be read.", "Write it anew, in PEM.")]
    return [judge_validity(str(file), min(found, key=lambda one: one.ends), now)]


def _of_address(url: str, now: int, ca_file: Path | None) -> Verdict:
    try:
        return judge_validity(url, validity(_shown(url, trusting(ca_file))), now)
    except ssl.SSLCertVerificationError as refused:
        return _refused(url, refused.verify_message, now)
    except ssl.SSLError as error:
        return bad(
            f"{url}: no TLS there ({error.reason or 'it breaks off'}).", "Is it http:? Look at who listens there."
        )
    except (OSError, NoCertificate, ValueError) as error:
        return warn(f"{url}: not looked at: {error.__class__.__name__}.", "See the check registry.")


def _refused(url: str, reason: str, now: int) -> Verdict:
    """A certificate that this machine does not accept: first whether its time is over."""
    try:
        verdict = judge_validity(url, validity(_shown(url, _anybody())), now)
    except (OSError, NoCertificate, ValueError):
        verdict = ok("")
    if verdict.state == "bad":
        return verdict
    return bad(
        f"{url}: its certificate is not accepted: {reason}.",
        "Trust its authority (SSL_CERT_FILE names a file of them), or give it one for this name.",
    )


def judge_validity(subject: str, found: Validity, now: int) -> Verdict:
    if now >= found.ends:
        return bad(f"{subject}: the certificate ended {_days(now - found.ends)} ago.", "Renew it.")
    if now < found.begins:
        step = "Look at the clock of this machine, or wait."
        return bad(f"{subject}: the certificate is good only in {_days(found.begins - now)}.", step)
    if found.ends - now < _SOON:
        return warn(f"{subject}: the certificate ends in {_days(found.ends - now)}.", "Renew it.")
    return ok(f"{subject}: the certificate is good for {_days(found.ends - now)}.")


def _days(span: int) -> str:
    days = span // _DAY
    return f"{days} days" if days != 1 else "1 day"


def _anybody() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _shown(url: str, context: ssl.SSLContext) -> bytes:
    """The certificate an address shows, if ``context`` accepts it."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    with (
        socket.create_connection((host, parts.port or 443), timeout=PATIENCE) as line,
        context.wrap_socket(line, server_hostname=host) as secured,
    ):
        return secured.getpeercert(binary_form=True) or b""
