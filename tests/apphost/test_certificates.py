"""The authority for development: a certificate that a client accepts for every name."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import urllib3

from orth.apphost.certificates import development_certificates, names_of
from orth.apphost.topologies import Certificates, from_settings
from orth.apphost.trust import Web
from orth.errors import CannotStart
from orth.settings import Settings

SETTINGS = Settings.model_validate({"apphost": {"suffix": "example.test", "registry": True, "executors": 2}})


def made(folder: Path, settings: Settings = SETTINGS) -> Certificates:
    return development_certificates(from_settings(settings, "jobs"), settings, folder)


class Greeting(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def server(files: Certificates) -> Iterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    with HTTPServer(("127.0.0.1", 0), Greeting) as http:
        http.socket = context.wrap_socket(http.socket, server_side=True)
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield http.server_port
        http.shutdown()


def test_clients_that_trust_the_authority_accept_it(tmp_path: Path, installed: Callable[[str], Path]) -> None:
    installed("openssl")
    files = made(tmp_path)
    with server(files) as port:
        assert Web(str(files.ca)).answers(f"https://127.0.0.1:{port}/")
        assert not Web(None).answers(f"https://127.0.0.1:{port}/"), "others do not"
        for name in ("apphost.example.test", "worker-agent-2.example.test"):
            pool = urllib3.HTTPSConnectionPool("127.0.0.1", port, ca_certs=str(files.ca), assert_hostname=name)
            assert pool.request("GET", "/", retries=False).status == 200
        wrong = urllib3.HTTPSConnectionPool("127.0.0.1", port, ca_certs=str(files.ca), assert_hostname="evil.test")
        with pytest.raises(urllib3.exceptions.SSLError):
            wrong.request("GET", "/", retries=False)


def test_files_are_made_once_and_only_this_user_reads_keys(tmp_path: Path, installed: Callable[[str], Path]) -> None:
    installed("openssl")
    files = made(tmp_path)
    ca, certificate = files.ca.read_text(), files.certificate.read_text()
    assert files.key.stat().st_mode & 0o077 == 0
    assert (files.ca.parent / "ca-key.pem").stat().st_mode & 0o077 == 0
    assert made(tmp_path).certificate.read_text() == certificate
    more = Settings.model_validate({"apphost": {"suffix": "example.test", "executors": 5}})
    made(tmp_path, more)
    assert files.ca.read_text() == ca, "trusted once"
    assert files.certificate.read_text() != certificate, "there is a name more"


def test_names_are_those_of_the_topology() -> None:
    assert names_of(from_settings(SETTINGS, "jobs"), SETTINGS) == [
        "localhost",
        "apphost.example.test",
        "orchestrator.example.test",
        "worker-agent-1.example.test",
        "worker-agent-2.example.test",
        "viz.example.test",
        "dashboard.example.test",
    ]


def test_without_openssl_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotStart, match=r"openssl.*Install it, or leave --tls out"):
        made(tmp_path)
