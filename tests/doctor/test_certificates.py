import ssl
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orth.doctor import State, Verdict
from orth.doctor.certificates import configured_certificates, judge_validity, look_at_certificate
from orth.doctor.validity import NoCertificate, Validity, validity
from orth.testing import ManualClock
from tests.doctor.places import COORDINATOR, case_of, only, serving

DAY = 86_400_000


@pytest.fixture
def made(tmp_path: Path, installed: Callable[[str], Path]) -> Callable[..., tuple[Path, Path]]:
    """``made(days=…)``: a certificate for 127.0.0.1 that is its own authority, and its key."""

    def make(days: int = 90, name: str = "here") -> tuple[Path, Path]:
        cert, key = tmp_path / f"{name}.pem", tmp_path / f"{name}.key"
        subprocess.run(
            [installed("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-keyout", key, "-out", cert, "-days", str(days), "-subj", f"/CN={name}",
             "-addext", "subjectAltName=IP:127.0.0.1"],
            check=True,
            capture_output=True,
        )  # fmt: skip
        return cert, key

    return make


def secured(cert: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


def test_what_is_looked_at() -> None:
    assert configured_certificates(case_of()) == [""]
    assert "No https address" in only(look_at_certificate(case_of(), ""), State.OK).what
    case = case_of({"registry": {"url": "https://a:5060"}, "alarms": {"ca_file": "/etc/ca.pem"}})
    assert configured_certificates(case) == ["https://a:5060", "/etc/ca.pem"]


def test_the_two_instants_of_a_certificate(made: Callable[..., tuple[Path, Path]]) -> None:
    before = datetime.now(UTC).timestamp() * 1000
    found = validity(ssl.PEM_cert_to_DER_cert(made(days=90)[0].read_text()))
    assert found.ends - found.begins == 90 * DAY
    assert abs(found.begins - before) < 60_000
    far = validity(ssl.PEM_cert_to_DER_cert(made(days=20_000, name="far")[0].read_text()))  # past 2050: another form
    assert far.ends - far.begins == 20_000 * DAY


@pytest.mark.parametrize("data", [b"", b"0", b"\x30\x82", b"\x30\x03\x02\x01\x05", b"nothing of the kind" * 9])
def test_what_is_no_certificate(data: bytes) -> None:
    with pytest.raises(NoCertificate):
        validity(data)


def test_a_cut_certificate_is_none(made: Callable[..., tuple[Path, Path]]) -> None:
    der = ssl.PEM_cert_to_DER_cert(made()[0].read_text())
    for length in range(0, len(der) - 1, 7):
        with pytest.raises(NoCertificate):
            validity(der[:length])


@pytest.mark.parametrize(
    ("begins", "ends", "state", "said"),
    [
        (-DAY, 60 * DAY, State.OK, "good for 60 days"),
        (-DAY, 29 * DAY, State.WARN, "ends in 29 days"),
        (-9 * DAY, -DAY, State.BAD, "ended 1 day ago"),
        (2 * DAY, 90 * DAY, State.BAD, "good only in 2 days"),
    ],
)
def test_the_time_of_a_certificate(begins: int, ends: int, state: State, said: str) -> None:
    now = ManualClock().now()
    verdict = judge_validity("https://there", Validity(now + begins, now + ends), now)
    assert verdict.state is state
    assert said in verdict.what


def test_files(tmp_path: Path, made: Callable[..., tuple[Path, Path]]) -> None:
    cert, key = made(days=90)
    only(look_at_certificate(case_of(), str(cert)), State.OK)
    both = tmp_path / "both.pem"
    both.write_text(made(days=400, name="other")[0].read_text() + made(days=5, name="third")[0].read_text())
    assert "ends in 4 days" in only(look_at_certificate(case_of(), str(both)), State.WARN).what
    assert "cannot be read" in only(look_at_certificate(case_of(), str(tmp_path / "none.pem")), State.BAD).what
    assert "holds no certificate" in only(look_at_certificate(case_of(), str(key)), State.BAD).what
    (tmp_path / "noise").write_bytes(bytes(range(256)))
    assert "holds no certificate" in only(look_at_certificate(case_of(), str(tmp_path / "noise")), State.BAD).what
    bent = tmp_path / "bent.pem"
    bent.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    assert "cannot be read" in only(look_at_certificate(case_of(), str(bent)), State.BAD).what


def test_the_certificate_a_process_serves_with_and_its_key(
    tmp_path: Path, made: Callable[..., tuple[Path, Path]]
) -> None:
    cert, key = made(days=90)
    _, other = made(days=90, name="other")

    def looked(with_key: Path) -> list[Verdict]:
        case = case_of({"security": {"tls_certificate": str(cert), "tls_key": str(with_key)}})
        assert configured_certificates(case) == [str(cert)]
        return look_at_certificate(case, str(cert))

    key.chmod(0o600)
    only(looked(key), State.OK)
    key.chmod(0o644)
    good, open_to_all = looked(key)
    assert (good.state, open_to_all.state) == (State.OK, State.WARN)
    assert "chmod 600" in open_to_all.next
    for wrong, said in (
        (other, "is not the private key"),
        (tmp_path / "none", "cannot be read"),
        (cert, "is not the private key"),
    ):
        *_, verdict = looked(wrong)
        assert verdict.state is State.BAD
        assert said in verdict.what


def test_an_address_whose_certificate_is_trusted_or_not(
    made: Callable[..., tuple[Path, Path]], monkeypatch: pytest.MonkeyPatch, free_port: int
) -> None:
    cert, key = made(days=90)
    with serving(COORDINATOR, secure=secured(cert, key)) as place:
        verdict = only(look_at_certificate(case_of(), place.url), State.BAD)
        assert "not accepted: self-signed certificate" in verdict.what
        assert "SSL_CERT_FILE" in verdict.next
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        assert "good for 89 days" in only(look_at_certificate(case_of(), place.url), State.OK).what
    with serving(COORDINATOR) as place:
        assert (
            "no TLS there" in only(look_at_certificate(case_of(), place.url.replace("http", "https")), State.BAD).what
        )
    only(look_at_certificate(case_of(), f"https://127.0.0.1:{free_port}"), State.WARN)
