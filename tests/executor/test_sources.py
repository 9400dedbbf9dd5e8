import gc
import os
import weakref

import pytest

from orth.domain.jobs import GlueType
from orth.executor.guard import descendants
from orth.executor.handlers import Handler, Handlers
from orth.executor.scripts import LANGUAGES
from orth.executor.sources import RECENT
from tests.executor.bench import eventually, request
from tests.executor.conftest import MakeRig


def test_the_same_version_is_the_same_handler_and_another_is_not(rig: MakeRig) -> None:
    sources = rig(scripts=("shell",)).runtime.sources

    def handler(**more: object) -> Handler:
        script = {"glue_type": "GLUE_SHELL", "glue_source": "true", "glue_updatetime": 1}
        found = sources.handler_of(request(1, "", **(script | more)))
        assert isinstance(found, Handler)
        return found

    first = handler()
    assert handler() is first
    assert handler(job_id=2) is not first
    assert handler(glue_updatetime=2) is not first
    assert handler(glue_source="false") is not handler()


def test_a_job_keeps_its_version_however_many_others_come(rig: MakeRig) -> None:
    ran = rig(scripts=("shell", "glue"))
    waits = {"glue_type": "GLUE", "glue_source": "def execute(ctx):\n    while True: ctx.checkpoint()"}
    assert ran.run(1, "", job_id=1, **waits).ok
    eventually(lambda: 1 in ran.runtime.tools.contexts)
    for job_id in range(2, 2 + RECENT + 1):
        other = request(job_id, "", job_id=job_id, glue_type="GLUE_SHELL", glue_source="true")
        assert isinstance(ran.runtime.sources.handler_of(other), Handler)
    refused = ran.run(2, "", job_id=1, executor_block_strategy="DISCARD_LATER", **waits)
    assert refused.msg == "Refused: job 1 is busy here, and its block strategy is DISCARD_LATER."
    assert ran.run(3, "", job_id=1, **waits).ok
    assert ran.runtime.threads.standing(request(1, "")) == "running", "it was not replaced by itself"
    assert ran.runtime.threads.standing(request(3, "")) == "queued"


def test_handlers_that_no_job_has_are_kept_up_to_a_number_the_last_used_longest(rig: MakeRig) -> None:
    sources = rig(scripts=("shell",)).runtime.sources

    def made_for(job_id: int) -> weakref.ref[Handler]:
        found = sources.handler_of(request(1, "", job_id=job_id, glue_type="GLUE_SHELL", glue_source="true"))
        assert isinstance(found, Handler)
        return weakref.ref(found)

    made = {job_id: made_for(job_id) for job_id in range(RECENT)}
    made_for(0)
    made_for(RECENT)
    gc.collect()
    assert [job_id for job_id, handler in made.items() if handler() is None] == [1]


def test_a_registered_handler_is_always_the_same(app: Handlers, rig: MakeRig) -> None:
    app.job("hello")(lambda: None)
    sources = rig().runtime.sources
    assert sources.handler_of(request(1, "hello")) is sources.handler_of(request(2, "hello")) is app.get("hello")


@pytest.mark.parametrize("kind", list(LANGUAGES))
def test_each_kind_of_script_is_off_until_it_is_named(rig: MakeRig, kind: GlueType) -> None:
    others = tuple(language.kind for other, language in LANGUAGES.items() if other is not kind)
    reply = rig(scripts=others).run(1, "", glue_type=kind, glue_source="true")
    setting = f"its setting executor.scripts would have to name {LANGUAGES[kind].kind}"
    assert reply.msg == f"Refused: {kind} is not allowed on this executor; {setting}."


@pytest.mark.parametrize("kind", [GlueType.GLUE_GROOVY, GlueType.GLUE_PYTHON2])
def test_kinds_that_do_not_exist_here(rig: MakeRig, kind: GlueType) -> None:
    reply = rig(scripts=("shell", "python", "glue")).run(1, "", glue_type=kind, glue_source="x")
    assert reply.msg == f"Refused: {kind} is not supported by this executor."


def test_an_empty_source_is_refused(rig: MakeRig) -> None:
    reply = rig(scripts=("shell",)).run(1, "", glue_type="GLUE_SHELL", glue_source=" \n")
    assert reply.msg == "Refused: job 1 has no source."


def test_an_executor_without_scripts_and_isolation_has_no_helper_process(app: Handlers, rig: MakeRig) -> None:
    app.job("hello")(lambda: None)
    before = descendants(os.getpid())
    assert rig(scripts=("glue",), builtin=("http",)).result(1, "hello").handle_code == 200
    assert descendants(os.getpid()) <= before
