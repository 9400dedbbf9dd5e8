"""What a registration says of handlers, when they say more of themselves than it has room for."""

from typing import Annotated

import pytest

from orth import Param
from orth.errors import Invalid
from orth.executor.announcing import ROOM, announced_handlers
from orth.executor.facts import AnnouncementShortened
from orth.executor.handlers import Handlers
from orth.wire.dialects import registry_body
from orth.wire.fields import HANDLERS_LIMIT, REGISTRY_BODY_LIMIT
from orth.wire.messages import HandlerInfo
from tests.executor.conftest import MakeRig


def info(name: str, weight: int = 0, description: str = "") -> HandlerInfo:
    schema = {"type": "object", "description": "x" * weight} if weight else None
    return HandlerInfo(name=name, description=description, params_schema=schema)


def size(infos: tuple[HandlerInfo, ...]) -> int:
    return sum(len(one.model_dump_json(by_alias=True, exclude_none=True).encode()) + 1 for one in infos)


def test_what_fits_is_announced_as_it_is() -> None:
    infos = [info("one", 100), info("two")]
    assert announced_handlers(infos) == (tuple(infos), [])


def test_the_largest_schemas_are_left_out_first_and_no_more_than_needed() -> None:
    infos = [info("small", 100), info("largest", 5_000), info("large", 3_000), info("none")]
    announced, shortened = announced_handlers(infos, room=3_600)
    assert shortened == ["largest"]
    assert [one.params_schema is not None for one in announced] == [True, False, True, False]
    assert [one.name for one in announced] == ["small", "largest", "large", "none"], "in their order"


def test_descriptions_go_when_no_schema_is_left() -> None:
    infos = [info("one", 500, "a" * 300), info("two", 0, "b" * 200)]
    announced, shortened = announced_handlers(infos, room=450)
    assert shortened == ["one"]
    assert [(one.params_schema, len(one.description)) for one in announced] == [(None, 0), (None, 200)]
    assert size(announced) <= 450


def test_names_that_do_not_fit_and_too_many_handlers_are_refused_in_words() -> None:
    with pytest.raises(Invalid, match="The names of the handlers have"):
        announced_handlers([info("n" * 200), info("m" * 200)], room=300)
    with pytest.raises(Invalid, match=f"at most {HANDLERS_LIMIT} handlers, not {HANDLERS_LIMIT + 1}"):
        announced_handlers([info(f"h{number}") for number in range(HANDLERS_LIMIT + 1)])


def test_an_executor_with_many_long_schemas_registers_and_says_what_is_missing(app: Handlers, rig: MakeRig) -> None:
    long = "words " * 2_000

    def handler(text: Annotated[str, Param(help=long)] = "") -> str:
        return text

    for number in range(100):
        app.job(f"handler-{number:03}")(handler)
    ran = rig()
    registration = ran.runtime.announced()
    assert len(registry_body(registration)) < REGISTRY_BODY_LIMIT
    assert registration.orth is not None
    schemas = [one.params_schema is not None for one in registration.orth.handlers if one.name.startswith("handler-")]
    assert len(schemas) == 100
    assert 0 < schemas.count(True) < 100
    assert size(registration.orth.handlers) <= ROOM
    [told] = ran.ears.of(AnnouncementShortened)
    assert told.count == schemas.count(False)
    assert ran.result(1, "handler-000", executor_params="still runs").handle_msg == "still runs"


def test_halves_of_surrogate_pairs_in_defaults_and_help_are_replaced(app: Handlers, rig: MakeRig) -> None:
    @app.job("odd")
    def odd(text: Annotated[str, Param(help="half \ud800 and nul \0")] = "\udfff") -> str:
        return ascii(text)

    ran = rig()
    said = registry_body(ran.runtime.announced()).decode()
    assert "half \ufffd and nul \ufffd" in said
    assert ran.result(1, "odd").handle_msg == ascii("\udfff"), "the handler has its own default"
