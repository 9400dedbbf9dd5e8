import inspect
import sys
from datetime import timedelta
from typing import Any

import pytest

from orth.domain.jobs import BlockStrategy
from orth.errors import Invalid
from orth.executor.context import JobContext
from orth.executor.handlers import Handlers, handler_of
from tests.executor.conftest import MakeRig


def test_a_decorated_function_stays_itself_and_is_found_by_name(app: Handlers) -> None:
    def add(a: int, b: int = 2) -> int:
        """Add two numbers.

        More about it.
        """
        return a + b

    decorated = app.job("adder")(add)
    assert decorated is add
    assert decorated(1, b=4) == 5
    assert str(inspect.signature(decorated)) == "(a: int, b: int = 2) -> int"
    handler = app.get("adder")
    assert handler is not None
    assert handler.info.description == "Add two numbers."
    assert handler.info.params_schema is not None
    assert set(handler.info.params_schema["properties"]) == {"a", "b"}
    assert app.get("add") is None


def test_the_function_names_the_handler_unless_told_otherwise(app: Handlers) -> None:
    @app.job
    def bare() -> None: ...

    @app.job()
    async def called() -> None: ...

    assert app.names() == ["bare", "called"]


def test_what_the_author_proposes_is_announced(app: Handlers) -> None:
    @app.job(
        "prices", schedule="0 */5 * * * ?", timezone="Europe/Paris", timeout=timedelta(minutes=10), block="discard"
    )
    def prices() -> None: ...

    handler = app.get("prices")
    assert handler is not None
    assert (handler.info.schedule, handler.info.timezone) == ("0 */5 * * * ?", "Europe/Paris")
    assert (handler.proposal.timeout, handler.proposal.block) == (600, BlockStrategy.DISCARD_LATER)
    assert app.infos() == (handler.info,)


def test_two_handlers_of_one_name_are_refused(app: Handlers) -> None:
    app.job("same")(lambda: None)
    with pytest.raises(Invalid, match="two handlers called same"):
        app.job("same")(lambda: None)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("abc", "No group can have the app name 'abc'. It must have 4 to 64 characters and has 3."),
        ("Shop App", "No group can have the app name 'Shop App'. It may have letters, digits, dots, hyphens and"),
        ("x" * 500, "x'. It must have 4 to 64 characters and has 500."),
        ("a b\x1b[31m", r"'a b\x1b[31m'"),
        (5, "An app name is a text, not 5."),
    ],
)
def test_an_app_name_that_no_group_can_have_is_refused(name: Any, complaint: str) -> None:
    with pytest.raises(Invalid) as refused:
        Handlers(name)
    assert complaint in str(refused.value)
    assert str(refused.value).endswith('Write a name such as Executor("my-app").')
    assert len(str(refused.value)) < 250


@pytest.mark.parametrize(("name", "kept"), [(None, None), ("", None), (" ", None), (" my-app ", "my-app")])
def test_an_app_name_may_be_left_to_the_settings(name: str | None, kept: str | None) -> None:
    assert Handlers(name).app_name == kept


@pytest.mark.parametrize("name", [" ", "\n", "a\x00b", "n" * 300])
def test_a_name_nobody_can_read_is_refused(app: Handlers, name: str) -> None:
    with pytest.raises(Invalid, match="cannot be registered"):
        app.job(name)(lambda: None)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"timeout": -1}, "cannot be negative"),
        ({"block": "sometimes"}, "no block strategy 'sometimes'"),
        ({"block": "LFU"}, "no block strategy 'LFU'"),
    ],
)
def test_proposals_that_cannot_work_are_refused(app: Handlers, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(Invalid, match=complaint):
        app.job("it", **options)(lambda: None)


@pytest.mark.parametrize(
    ("options", "complaint", "hint"),
    [
        ({"schedule": "0 25 * * *"}, "hour 25 is outside 0-23.", "Write a number from 0 to 23."),
        ({"schedule": "fix_delay:5s"}, "this has 1.", "FIX_DELAY 30s"),
        ({"schedule": "FIX_RATE soon"}, "'soon' is not a duration", "30s"),
        ({"schedule": "0 0 2 * *\t?"}, "A schedule is one line without tabs.", "Write a cron expression"),
        ({"schedule": "0 * * * *", "timezone": "Europe/Pari"}, "There is no time zone 'Europe/Pari'.", "Europe/Paris?"),
        ({"timezone": "Mars/Olympus"}, "no time zone 'Mars/Olympus'", "such as"),
    ],
)
def test_a_schedule_that_no_job_can_have_is_noted_with_the_author_s_line(
    app: Handlers, options: dict[str, Any], complaint: str, hint: str
) -> None:
    line = sys._getframe().f_lineno + 1
    app.job("wrong", **options)(lambda: None)
    app.job("right", schedule="0 * * * *", timezone="Europe/Paris")(lambda: None)
    [mistake] = app.schedule_mistakes
    assert mistake.place == f"{__file__}:{line}"
    told = str(mistake)
    assert (complaint in told, hint in told, "handler wrong" in told) == (True, True, True)
    assert all(repr(value)[1:-1] in told for value in options.values())
    announced = {info.name: (info.schedule, info.timezone) for info in app.infos()}
    assert announced == {"wrong": (None, None), "right": ("0 * * * *", "Europe/Paris")}


@pytest.mark.parametrize(
    "schedule", ["FIX_RATE 500ms", "fix_delay 1.5s", "AT 2030-01-31T06:00", "0 0 6 * * ?", "@daily"]
)
def test_every_kind_of_schedule_can_be_proposed(app: Handlers, schedule: str) -> None:
    app.job("it", schedule=schedule)(lambda: None)
    assert [info.schedule for info in app.infos()] == [schedule]
    assert app.schedule_mistakes == []


NOW = 1_800_000_000_000


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"schedule": "AT 2001-01-01T00:00:00Z"}, "its last fire was 2001-01-01 00:00 UTC."),
        ({"schedule": "0 0 0 1 1 ? 2001"}, "its last fire was 2001-01-01 00:00 UTC."),
        ({"timeout": 10**9}, "A time limit is at most 604800 seconds, which are 7 days, not 1000000000."),
        ({"schedule": "0 0 2 * * ?", "target": 5}, "By its schedule it gets no parameters: x: it is missing. Give it"),
    ],
)
def test_a_job_that_the_api_would_refuse_is_found_with_the_author_s_line(
    app: Handlers, options: dict[str, Any], complaint: str
) -> None:
    def needing(x: int) -> None: ...

    def needing_nothing(ctx: JobContext, x: int = 5) -> None: ...

    target = needing if options.pop("target", None) else needing_nothing
    line = sys._getframe().f_lineno + 1
    app.job("wrong", **options)(target)
    app.job("right", schedule="AT 2100-01-01", timeout=604_800)(needing_nothing)
    app.job("by hand")(needing)
    [mistake] = app.mistakes(NOW)
    assert mistake.startswith(f"{__file__}:{line}: no job can be created for handler wrong: ")
    assert complaint in mistake
    assert app.schedule_mistakes == []


@pytest.mark.parametrize("name", ["0 0 2 * * ?", "*/5 * * * *", "@daily", "FIX_RATE 30s", "at 2030-01-01"])
def test_a_schedule_in_the_place_of_the_name_is_noted(app: Handlers, name: str) -> None:
    line = sys._getframe().f_lineno + 1
    app.job(name)(lambda: None)
    said = f'{name!r}: It is the name of the handler. Write @app.job(schedule="{name}").'
    assert app.mistakes(NOW) == [f"{__file__}:{line}: handler {name} has no schedule: {said}"]


@pytest.mark.parametrize("name", ["daily", "at home", "sync all orders of today", "fix_rate", "@home"])
def test_a_name_is_a_name(app: Handlers, name: str) -> None:
    app.job(name)(lambda: None)
    app.job(name + " later", schedule="0 0 2 * * ?")(lambda: None)
    assert app.mistakes(NOW) == []


def test_a_method_is_refused_because_nothing_gives_it_self(app: Handlers) -> None:
    class Jobs:
        def work(self, count: int = 1) -> int:
            return count

        @staticmethod
        def alone(count: int = 1) -> int:
            return count

    with pytest.raises(Invalid, match="Handler work is a method of a class"):
        app.job(Jobs.work)
    app.job(Jobs.alone)
    app.job("bound")(Jobs().work)

    def inner(self: int = 1) -> None: ...

    app.job(inner)
    assert app.names() == ["alone", "bound", "inner"]


def test_a_generator_is_refused_because_calling_it_runs_nothing(app: Handlers) -> None:
    def generator() -> Any:
        yield 1

    with pytest.raises(Invalid, match="is a generator"):
        app.job(generator)


def test_a_class_needs_execute(app: Handlers) -> None:
    class Empty: ...

    with pytest.raises(Invalid, match="no execute method"):
        app.job("empty")(Empty)


def test_the_parameters_of_a_class_are_those_of_execute(app: Handlers) -> None:
    class Sync:
        def execute(self, batch: int = 500) -> None: ...

    app.job("sync")(Sync)
    handler = app.get("sync")
    assert handler is not None
    assert handler.parameters.read('{"batch": 7}') == {"batch": 7}


def test_a_function_has_the_hooks_of_a_class(app: Handlers, rig: MakeRig) -> None:
    steps: list[str] = []

    @app.job
    async def work(ctx: JobContext, word: str = "") -> str:
        steps.append(f"execute {ctx.log_id}")
        return word

    @work.init
    async def open_it(ctx: JobContext) -> None:
        steps.append(f"init {ctx.log_id}")

    @work.destroy
    def close_it() -> None:
        steps.append("destroy")

    ran = rig()
    assert ran.result(1, "work", executor_params="a").handle_msg == "a"
    assert ran.result(2, "work").handle_code == 200
    assert steps == ["init 1", "execute 1", "execute 2"]
    ran.runtime.threads.drain(5)
    assert steps == ["init 1", "execute 1", "execute 2", "destroy"]


def test_one_hook_is_enough(app: Handlers, rig: MakeRig) -> None:
    steps: list[str] = []

    @app.job
    def work() -> None:
        steps.append("execute")

    @work.init
    def open_it() -> None:
        steps.append("init")

    rig().result(1, "work")
    assert steps == ["init", "execute"]


def test_a_decorated_function_leads_to_its_handler(app: Handlers) -> None:
    @app.job("by-name", timeout=7)
    def by_function() -> None: ...

    @app.job
    class Base:
        def execute(self) -> None: ...

    class Derived(Base): ...

    assert handler_of(by_function) is app.get("by-name") is app.find("by_function") is app.find("by-name")
    assert handler_of(Base) is app.get("Base")
    assert handler_of(Derived).target is Derived, "a subclass is not its base"

    def never_decorated(count: int) -> None: ...

    assert handler_of(never_decorated).name == "never_decorated"
    assert app.find("nobody") is None


def test_what_has_no_place_for_attributes_can_be_a_handler_too(app: Handlers) -> None:
    class Worker:
        def work(self, count: int = 1) -> int:
            return count

    method = Worker().work
    assert app.job(method) is method
    handler = app.get("work")
    assert handler is not None
    assert handler.parameters.read('{"count": 4}') == {"count": 4}
