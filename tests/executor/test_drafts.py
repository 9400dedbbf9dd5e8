"""Tests of code run beside their job, and a source that is not the one that was sent is not run."""

from typing import Any

import pytest

from orth.domain.jobs import BlockStrategy
from orth.domain.scripts import digest_of
from orth.wire.messages import KillRequest
from tests.executor.bench import Rig, eventually, request
from tests.executor.conftest import MakeRig
from tests.executor.test_scripts import folder_of, lines_of, result, shell

WAITS = "until [ -e released ]; do sleep 0.02; done; echo done"


@pytest.fixture
def shells(rig: MakeRig, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Rig:
    monkeypatch.chdir(tmp_path)
    return rig(scripts=("shell", "glue"))


@pytest.mark.parametrize("strategy", list(BlockStrategy))
def test_a_test_neither_ends_nor_awaits_the_job(shells: Rig, tmp_path: Any, strategy: BlockStrategy) -> None:
    assert shells.run(1, "", **shell(WAITS, executor_block_strategy=strategy)).ok
    drafted = shell("echo draft", version=2, draft=True, executor_block_strategy=strategy)
    assert shells.run(2, "", **drafted).ok
    eventually(lambda: shells.runtime.threads.open_ids() == [1])
    assert shells.runtime.threads.load_of(1) == 1
    (tmp_path / "released").touch()
    assert shells.runtime.join_idle(10)
    assert (lines_of(shells, 1), lines_of(shells, 2)) == (["done"], ["draft"])


def test_the_job_does_not_end_its_test(shells: Rig, tmp_path: Any) -> None:
    assert shells.run(1, "", **shell(WAITS, version=2, draft=True)).ok
    assert shells.run(2, "", **shell("echo own")).ok
    eventually(lambda: shells.runtime.threads.open_ids() == [1])
    (tmp_path / "released").touch()
    assert shells.runtime.join_idle(10)
    assert lines_of(shells, 1) == ["done"]


def test_the_file_of_the_job_stays(shells: Rig) -> None:
    result(shells, 1, **shell("echo own", version=1))
    result(shells, 2, **shell("echo draft", version=2, draft=True))
    result(shells, 3, **shell("echo draft 2", version=3, draft=True))
    assert sorted(file.name for file in folder_of(shells).iterdir()) == ["1-draft_3.sh", "1_1.sh"]
    result(shells, 4, **shell("echo new", version=4))
    assert sorted(file.name for file in folder_of(shells).iterdir()) == ["1-draft_3.sh", "1_4.sh"]


@pytest.mark.parametrize("log_id", [1, None])
def test_a_test_can_be_killed_alone_or_with_its_job(shells: Rig, log_id: int | None) -> None:
    assert shells.run(1, "", **shell(WAITS, version=2, draft=True)).ok
    assert shells.run(2, "", **shell(WAITS)).ok
    eventually(lambda: len(shells.runtime.threads.tools.contexts) == 2)
    shells.runtime.admission.kill(KillRequest(job_id=1, log_id=log_id))
    left = [2] if log_id else []
    eventually(lambda: shells.runtime.threads.open_ids() == left)
    shells.runtime.admission.kill(KillRequest(job_id=1))
    assert shells.runtime.join_idle(10)


def test_glue_that_is_tried_is_not_the_jobs(shells: Rig) -> None:
    def glue(text: str, version: int, **more: Any) -> dict[str, Any]:
        source = f"def execute(ctx):\n    return {text!r}\n"
        return {"glue_type": "GLUE", "glue_source": source, "glue_updatetime": version, **more}

    assert result(shells, 1, **glue("own", 1)).handle_msg == "own"
    assert result(shells, 2, **glue("draft", 2, draft=True)).handle_msg == "draft"
    assert result(shells, 3, **glue("own", 1)).handle_msg == "own"


def test_a_source_that_is_not_the_one_that_was_sent_is_refused(shells: Rig) -> None:
    reply = shells.run(1, "", **shell("echo swapped", source_digest=digest_of("echo one")))
    assert not reply.ok
    assert "their digests differ" in str(reply.msg)
    assert not shells.runtime.threads.is_open(1)
    assert result(shells, 2, **shell("echo one", source_digest=digest_of("echo one"))).handle_code == 200
    (answer,) = shells.runtime.admission.run_all(
        [request(3, "", **shell("echo swapped", source_digest=digest_of("echo one")))]
    )
    assert answer.code == 500
