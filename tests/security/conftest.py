"""A coordinator and an executor as real processes, for all tests here that only knock at their doors."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.security.raw import ask, head
from tests.servers.processes import free_port
from tests.walk.processes import TOKEN, Process, Site, eventually

JOBS = """
from orth import Executor

app = Executor("collector")


@app.job("note")
def note(text: str) -> None:
    with open("notes", "a") as file:
        file.write(text)
"""


@dataclass(frozen=True)
class Door:
    """A listener under attack."""

    name: str
    process: Process
    port: int
    path: str
    """Where it reads a body."""
    good: bytes
    """A body that it takes."""

    def post(self, *lines: str, path: str | None = None, token: str = TOKEN) -> bytes:
        return head("POST", path or self.path, f"ORTH-ACCESS-TOKEN: {token}", *lines)

    def serves(self) -> bool:
        """Whether it goes on serving others."""
        request = self.post("Content-Type: application/json", f"Content-Length: {len(self.good)}", "Connection: close")
        return self.process.alive() and ask(self.port, request + self.good).status == 200


@pytest.fixture(scope="session")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Door]]:
    folder = tmp_path_factory.mktemp("doors")
    (folder / "jobs.py").write_text(JOBS)
    port = free_port()
    with Site(folder) as site:
        coordinator = site.coordinator()
        # No coordinator knows it or ever will, and the token opens what these attacks are about: how it reads.
        alone = {
            "ORTH_EXECUTOR__APP_NAME": "collector",
            "ORTH_EXECUTOR__COORDINATORS": "http://127.0.0.1:1",
            "ORTH_EXECUTOR__TOKEN_UNTIL_REGISTERED": "true",
        }
        executor = site.executor(folder / "jobs.py", port=port, **alone)
        beat = b'{"registryKey":"other","registryValue":"http://127.0.0.1:1/"}'
        yield {
            "coordinator": Door("coordinator", coordinator, site.port, "/api/registry", beat),
            "executor": Door("executor", executor, port, "/idleBeat", b'{"jobId":1}'),
        }
        assert (folder / "notes").exists() is False, "an attack has run a handler"


@pytest.fixture(params=["coordinator", "executor"])
def door(request: pytest.FixtureRequest, doors: dict[str, Door]) -> Iterator[Door]:
    """Each of the two in turn; after the attack it still serves others."""
    found = doors[request.param]
    yield found
    eventually(lambda: found.serves() or None, what=f"the {found.name} serving others")
