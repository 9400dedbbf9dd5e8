"""What one execution does to its worker process is not there for the next."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.executor.bench import Rig
from tests.executor.isolated_jobs import app as isolated_app


@pytest.fixture
def ran(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(isolated_app, tmp_path / "executor", warm_workers=1)
    yield made
    made.runtime.close()


def test_what_can_be_put_back_is_put_back_and_the_worker_is_used_again(ran: Rig) -> None:
    umask = os.umask(0o077)
    os.umask(umask)
    worker = ran.result(1, "meddles").handle_msg
    found = ran.result(2, "looks").handle_msg
    assert found == f"{worker} {os.getcwd()} {umask} [] True (None, True) True"


def test_a_stream_that_one_has_put_in_the_place_takes_no_prints_of_the_next(ran: Rig) -> None:
    first, second = ran.result(1, "takes_stdout"), ran.result(2, "prints")
    assert (first.handle_code, first.handle_msg) == (200, second.handle_msg), "the same worker"
    assert "kept to itself" not in ran.text(1)
    assert " printed\n" in ran.text(2)


@pytest.mark.parametrize(
    ("handler", "told"),
    [
        ("closes_output", "It closed or redirected descriptor 1 and 2; its worker process was ended"),
        ("sets_handlers_in_c", "It changed what becomes of a signal in a way that cannot be taken back"),
    ],
)
def test_a_worker_that_cannot_be_put_back_is_not_used_again(ran: Rig, handler: str, told: str) -> None:
    spoilt = ran.result(1, handler)
    assert spoilt.handle_code == 200
    assert told in ran.text(1)
    other = ran.result(2, "where")
    assert (other.handle_code, other.handle_msg != spoilt.handle_msg) == (200, True)
