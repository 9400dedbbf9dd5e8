import os

import pytest

from orth.domain.jobs import GlueType
from orth.executor.guard import descendants
from orth.executor.handlers import Handler, Handlers
from orth.executor.scripts import LANGUAGES
from tests.executor.bench import request
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
