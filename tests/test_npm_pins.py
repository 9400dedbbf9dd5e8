"""pins/npm.json is all that the console is built with, by SHA-512 and without addresses; npm takes no other. (A82)"""

import base64
import io
import json
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from hashlib import sha512
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tools.pin_npm import PACKAGES, PINNED, pins_of

NPM = Path(sys.executable).parent / "npm"


def pinned() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(PINNED.read_text())
    return read


def test_what_the_console_asks_for_is_what_is_pinned() -> None:
    asked, root = json.loads(PACKAGES.read_text()), pinned()["packages"][""]
    for kind in ("dependencies", "devDependencies"):
        assert root[kind] == asked[kind], "run: python tools/pin_npm.py"
        for name, version in asked[kind].items():
            assert pinned()["packages"][f"node_modules/{name}"]["version"] == version


def test_every_package_has_a_digest_and_no_address() -> None:
    packages = {path: said for path, said in pinned()["packages"].items() if path}
    assert len(packages) > 100
    for path, said in packages.items():
        algorithm, _, digest = said["integrity"].partition("-")
        assert (algorithm, len(base64.b64decode(digest))) == ("sha512", 64), path
        assert "resolved" not in said
    assert "://" not in PINNED.read_text()


def test_what_packages_need_is_pinned_too() -> None:
    packages = pinned()["packages"]
    names = {path.rpartition("node_modules/")[2] for path in packages}
    for said in packages.values():
        for kind in ("dependencies", "optionalDependencies"):
            assert said.get(kind, {}).keys() - names == set()


def test_a_package_without_a_strong_digest_is_not_pinned() -> None:
    lock = {"name": "x", "lockfileVersion": 3, "packages": {"": {}, "node_modules/a": {"integrity": "sha1-AAAA"}}}
    with pytest.raises(SystemExit, match="node_modules/a"):
        pins_of(lock)


def archive(text: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as file:
        for name, content in (("package.json", '{"name": "tampered", "version": "1.0.0"}'), ("index.js", text)):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(content)
            file.addfile(entry, io.BytesIO(content.encode()))
    return made.getvalue()


def integrity(of: bytes) -> str:
    return f"sha512-{base64.b64encode(sha512(of).digest()).decode()}"


GOOD, EVIL = archive("good"), archive("evil")


class Registry(ThreadingHTTPServer):
    """Serves one package, and what it says of its digest."""

    serves, says = GOOD, integrity(GOOD)


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        registry = self.server
        assert isinstance(registry, Registry)
        dist = {"tarball": f"http://127.0.0.1:{registry.server_port}/a.tgz", "integrity": registry.says}
        version = {"name": "tampered", "version": "1.0.0", "dist": dist}
        told = {"name": "tampered", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
        body = registry.serves if self.path.endswith(".tgz") else json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry(("127.0.0.1", 0), _Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_an_archive_that_is_not_the_pinned_one_is_not_unpacked(registry: Registry, tmp_path: Path) -> None:
    wants = {"dependencies": {"tampered": "1.0.0"}}
    said = {"version": "1.0.0", "integrity": integrity(GOOD), "resolved": "http://somewhere.example/a.tgz"}
    lock = {"name": "x", "lockfileVersion": 3, "packages": {"": wants, "node_modules/tampered": said}}
    made = tmp_path / "node_modules/tampered/index.js"

    def install(serves: bytes, says: str, cache: str) -> str:
        registry.serves, registry.says = serves, says
        (tmp_path / "package.json").write_text(json.dumps({"name": "x", "private": True, **wants}))
        (tmp_path / "package-lock.json").write_text(json.dumps(pins_of(lock)))
        url = f"http://127.0.0.1:{registry.server_port}/"
        options = ("--no-audit", "--no-fund", "--fetch-retries=0", "--registry", url, "--cache", tmp_path / cache)
        return subprocess.run([NPM, "ci", *options], cwd=tmp_path, capture_output=True, text=True, check=False).stderr

    for number, says in enumerate((integrity(EVIL), integrity(GOOD))):
        assert "EINTEGRITY" in install(EVIL, says, f"evil{number}")
        assert not made.exists()
    install(GOOD, integrity(GOOD), "good")
    assert made.read_text() == "good"
