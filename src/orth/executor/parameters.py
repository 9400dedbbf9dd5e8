"""How the parameter of a trigger, which is text, becomes the arguments of a handler.

The signature decides:

* nothing besides the context: the handler gets nothing, and may read ``ctx.param``;
* exactly one ``str``: it gets the text as it is (or its default, when the text is empty);
* anything else: the text is a JSON object whose members are the keyword arguments, validated by their annotations.

What does not fit is refused before the handler runs, with every field named. The same signature gives the JSON schema
that travels with the registration, so that the console can draw a form. ``Annotated[int, Param(help="…", le=9)]`` says
more about an argument than its type can.
"""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError, to_json

from orth.errors import Invalid
from orth.executor.context import JobContext

# A Pydantic field may not be called like a method of the model; behind a prefix every argument name is possible.
_PREFIX = "argument_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """What the console shows and checks of one argument: ``Annotated[list[str], Param(help="…", max_items=500)]``."""

    help: str | None = None
    title: str | None = None
    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    pattern: str | None = None

    def field(self) -> Any:
        """``Any``, as ``pydantic.Field`` itself."""
        return Field(
            description=self.help,
            title=self.title,
            gt=self.gt,
            ge=self.ge,
            lt=self.lt,
            le=self.le,
            min_length=self.min_items if self.min_length is None else self.min_length,
            max_length=self.max_items if self.max_length is None else self.max_length,
            pattern=self.pattern,
        )


@dataclass(frozen=True, slots=True)
class Parameters:
    """What one handler takes."""

    context_name: str | None
    """The argument that receives the ``JobContext``, if there is one."""
    text_name: str | None
    """The argument that receives the raw text, if that is how the handler is written."""
    text_required: bool
    model: type[BaseModel] | None
    schema: dict[str, Any] | None

    def read(self, text: str) -> dict[str, Any]:
        """The keyword arguments ``text`` stands for, without the context; ``Invalid`` if it does not fit."""
        if self.text_name is not None:
            return {self.text_name: text} if text or self.text_required else {}
        if self.model is None:
            return {}
        try:
            read = self.model.model_validate_json(text if text.strip() else "{}")
        except ValidationError as error:
            raise Invalid(f"The parameters do not fit: {_complaints(error)}.") from None
        # What was not sent is left out, so that the handler's own default applies.
        given = {name.removeprefix(_PREFIX): getattr(read, name) for name in read.model_fields_set}
        return given | (read.model_extra or {})

    def text_of(self, arguments: Mapping[str, Any]) -> str:
        """The text that stands for ``arguments``: what a coordinator would send to have the handler called with them.

        ``Invalid`` when there is none, because the handler takes no arguments or JSON cannot carry them.
        """
        if not arguments:
            return ""
        if self.text_name is not None and set(arguments) == {self.text_name}:
            return str(arguments[self.text_name])
        if self.model is None:
            taken = f"only {self.text_name}" if self.text_name else "no parameters"
            raise Invalid(f"The handler takes {taken}, and was given {', '.join(arguments)}.")
        try:
            return to_json(dict(arguments)).decode()
        except PydanticSerializationError as error:
            raise Invalid(f"The parameters cannot be written as JSON: {error}.") from None

    def text_of_words(self, words: Sequence[str]) -> str:
        """The text that ``name=value`` words of a command line stand for.

        A value is JSON where the argument takes it so, and otherwise the text as it is: ``count=5``, ``name=Ann``.
        """
        arguments: dict[str, Any] = {}
        for word in words:
            name, equals, value = word.partition("=")
            if not equals:
                raise Invalid(f"{word!r} is not a parameter.", hint="Write name=value.")
            arguments[name] = value if name == self.text_name else self._value(name, value)
        return self.text_of(arguments)

    def _value(self, name: str, text: str) -> Any:
        try:
            value = json.loads(text)
        except ValueError:
            return text
        declared = self.model.model_fields.get(_PREFIX + name) if self.model else None
        if declared is None:
            return value
        try:
            TypeAdapter[Any](declared.annotation or Any).validate_json(text)
        except ValidationError:
            return text
        return value

    def with_context(self, arguments: Mapping[str, Any], context: JobContext) -> dict[str, Any]:
        """``arguments`` plus the context, where the handler asks for it."""
        return {**arguments, self.context_name: context} if self.context_name else dict(arguments)


def parameters_of(function: Callable[..., Any], handler: str) -> Parameters:
    """Read the signature of ``function``; ``Invalid`` when it cannot be called from JSON."""
    try:
        wanted = list(inspect.signature(function, eval_str=True).parameters.values())
    except NameError as error:
        raise Invalid(f"The annotations of handler {handler} cannot be resolved: {error}.") from None
    for parameter in wanted:
        _check_kind(parameter, handler)
    context_name = next((parameter.name for parameter in wanted if _is_context(parameter)), None)
    taken = [parameter for parameter in wanted if parameter.name != context_name]
    if not taken:
        return Parameters(context_name, None, False, None, None)
    if len(taken) == 1 and taken[0].annotation is str and taken[0].kind is not Parameter.VAR_KEYWORD:
        return _raw_text(context_name, taken[0])
    model = _model(taken, handler)
    return Parameters(context_name, None, False, model, _schema(model, handler))


def _check_kind(parameter: Parameter, handler: str) -> None:
    if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL):
        raise Invalid(
            f"Argument {parameter.name} of handler {handler} can only be given by position.",
            hint="Parameters arrive as a JSON object, so every argument needs a name.",
        )


def _is_context(parameter: Parameter) -> bool:
    return parameter.annotation is JobContext or (
        parameter.name == "ctx" and parameter.annotation in (Parameter.empty, Any)
    )


def _raw_text(context_name: str | None, parameter: Parameter) -> Parameters:
    required = parameter.default is Parameter.empty
    schema = {"type": "string", "title": parameter.name}
    if isinstance(parameter.default, str):
        schema["default"] = parameter.default
    return Parameters(context_name, parameter.name, required, None, schema)


def _model(taken: list[Parameter], handler: str) -> type[BaseModel]:
    open_ended = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in taken)
    fields: dict[str, Any] = {}
    for parameter in taken:
        if parameter.kind is Parameter.VAR_KEYWORD:
            continue
        annotation = Any if parameter.annotation is Parameter.empty else _understood(parameter.annotation)
        default = ... if parameter.default is Parameter.empty else parameter.default
        fields[_PREFIX + parameter.name] = (annotation, Field(default, alias=parameter.name))
    config = ConfigDict(extra="allow" if open_ended else "forbid", hide_input_in_errors=True)
    try:
        return create_model(handler, __config__=config, **fields)
    except PydanticUserError as error:
        raise Invalid(f"Handler {handler} takes an argument that JSON cannot carry: {_first_line(error)}") from None


def _understood(annotation: Any) -> Any:
    """``annotation`` with each ``Param`` in it as the field Pydantic knows."""
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, *said = get_args(annotation)
    metadata = [item.field() if isinstance(item, Param) else item for item in said]
    return Annotated[(kind, *metadata)]


def _schema(model: type[BaseModel], handler: str) -> dict[str, Any]:
    try:
        return model.model_json_schema()
    except PydanticUserError as error:
        raise Invalid(f"Handler {handler} takes an argument that JSON cannot carry: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _complaints(error: ValidationError) -> str:
    found = []
    for detail in error.errors(include_url=False, include_input=False, include_context=False):
        place = ".".join(str(step) for step in detail["loc"])
        found.append(f"{place}: {detail['msg']}" if place else detail["msg"])
    return "; ".join(found)
