"""TLS handshakes that fail are told of, and not each of a flood; the others pass in silence."""

import ssl
import subprocess
from pathlib import Path

import pytest

from orth.events import Event, Events
from orth.handshakes import Handshakes, HandshakesFailed
from orth.testing import ManualClock


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "own.pem", folder / "own.key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(certificate), "-days", "1", "-subj", "/CN=own"]
    subprocess.run([*command, "-addext", "subjectAltName=DNS:own"], check=True, capture_output=True)
    return certificate, key


def handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    """Let both speak in turn until they agree; ``ssl.SSLError`` if they never do."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname="own"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    while sides:
        for side in list(sides):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            sides.remove(side)


def test_only_what_fails_is_told_and_a_flood_is_one_fact(files: tuple[Path, Path]) -> None:
    heard: list[Event] = []
    clock = ManualClock()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(*files)
    server.load_verify_locations(files[0])
    server.verify_mode = ssl.CERT_REQUIRED
    Handshakes(Events(heard.append), clock).watch(server)
    known, unknown = (ssl.create_default_context(cafile=str(files[0])) for _ in range(2))
    known.load_cert_chain(*files)
    handshake(server, known)
    assert heard == []
    for _ in range(3):
        with pytest.raises(ssl.SSLError):
            handshake(server, unknown)
    assert heard == [HandshakesFailed(1, "PEER_DID_NOT_RETURN_A_CERTIFICATE")]
    clock.move(11)
    with pytest.raises(ssl.SSLError):
        handshake(server, unknown)
    assert [one.count for one in heard if isinstance(one, HandshakesFailed)] == [1, 3]
