"""How the parameter of a trigger, which is text, becomes the arguments of a handler.

The signature decides:

* nothing besides the context: the handler gets nothing, and may read ``ctx.param``;
* exactly one ``str``, with a ``Param`` or without: it gets the text as it is (or its default, when the text is empty);
* anything else: the text is a JSON object whose members are the keyword arguments, validated by their annotations.

What does not fit is refused before the handler runs, with every field named. The same signature gives the JSON schema
that travels with the registration, so that the console can draw a form. ``Annotated[int, Param(help="…", le=9)]`` says
more about an argument than its type can, and about what is in a list, a union or a model.
"""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from inspect import Parameter
from types import GenericAlias
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticSerializationError, to_json
from pydantic_core.core_schema import BeforeValidatorFunctionSchema, WrapValidatorFunctionSchema

from orth.domain.parameter_schema import CONVERTED
from orth.errors import Invalid
from orth.executor.context import JobContext

# A Pydantic field may not be called like a method of the model; behind a prefix every argument name is possible.
_PREFIX = "argument_"
_BOUNDS = ("gt", "ge", "lt", "le")
_WITHIN = ("anyOf", "oneOf", "allOf", "items", "prefixItems", "additionalProperties")


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

    __is_annotated_types_grouped_metadata__ = True
    """So Pydantic takes it for what it iterates over, wherever in a type it stands."""

    def __iter__(self) -> Iterator[Any]:
        """``Any``, as ``pydantic.Field`` itself."""
        yield Field(
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
    text_rules: TypeAdapter[str] | None = None
    """What the raw text has to keep to, where its annotation says more than ``str``."""

    def takes(self, name: str) -> bool:
        """Whether an argument may be given by that name."""
        if self.model is None:
            return name == self.text_name
        return _PREFIX + name in self.model.model_fields or self.model.model_config.get("extra") == "allow"

    def read(self, text: str) -> dict[str, Any]:
        """The keyword arguments ``text`` stands for, without the context; ``Invalid`` if it does not fit."""
        if self.text_name is not None:
            return {self.text_name: self._checked_text(text)} if text or self.text_required else {}
        if self.model is None:
            return {}
        try:
            read = self.model.model_validate_json(text if text.strip() else "{}")
        except ValidationError as error:
            raise _unfit(error) from None
        # What was not sent is left out, so that the handler's own default applies.
        given = {name.removeprefix(_PREFIX): getattr(read, name) for name in read.model_fields_set}
        return given | (read.model_extra or {})

    def _checked_text(self, text: str) -> str:
        if self.text_rules is None:
            return text
        try:
            return self.text_rules.validate_python(text)
        except ValidationError as error:
            raise _unfit(error, self.text_name) from None

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
            if name in arguments:
                raise Invalid(f"The parameter {name} is given twice.", hint="A list is one value: name='[3, 4]'.")
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
        reading = TypeAdapter[Any](declared.annotation or Any)
        as_json, as_text = _read(reading, text), _read(reading, json.dumps(text))
        if as_text is _UNFIT:
            return value  # the complaint is then about what was meant
        # A number of JSON is read as a float, which has not all of its digits; as a text it has.
        exact = isinstance(as_json, Decimal) and isinstance(as_text, Decimal)
        return text if as_json is _UNFIT or exact else value

    def with_context(self, arguments: Mapping[str, Any], context: JobContext) -> dict[str, Any]:
        """``arguments`` plus the context, where the handler asks for it."""
        return {**arguments, self.context_name: context} if self.context_name else dict(arguments)


_UNFIT = object()


def _read(reading: TypeAdapter[Any], text: str) -> Any:
    try:
        return reading.validate_json(text)
    except ValidationError:
        return _UNFIT


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
    if len(taken) == 1 and _is_text(taken[0]):
        return _raw_text(context_name, taken[0], handler)
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


def _is_text(parameter: Parameter) -> bool:
    annotation = parameter.annotation
    plain = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return plain is str and parameter.kind is not Parameter.VAR_KEYWORD


def _raw_text(context_name: str | None, parameter: Parameter, handler: str) -> Parameters:
    required = parameter.default is Parameter.empty
    rules = None if parameter.annotation is str else TypeAdapter[str](parameter.annotation)
    described = {} if rules is None else rules.json_schema()
    _check_bounds(parameter.name, described, handler)
    schema = {"title": parameter.name, **described, "type": "string"}
    if isinstance(parameter.default, str):
        schema["default"] = parameter.default
    return Parameters(context_name, parameter.name, required, None, schema, rules)


def _model(taken: list[Parameter], handler: str) -> type[BaseModel]:
    more = next((parameter for parameter in taken if parameter.kind is Parameter.VAR_KEYWORD), None)
    fields: dict[str, Any] = {}
    for parameter in taken:
        if parameter.kind is Parameter.VAR_KEYWORD:
            continue
        annotation = Any if parameter.annotation is Parameter.empty else parameter.annotation
        default = ... if parameter.default is Parameter.empty else parameter.default
        fields[_PREFIX + parameter.name] = (annotation, Field(default, alias=parameter.name))
    config = ConfigDict(extra="forbid" if more is None else "allow", hide_input_in_errors=True)
    members: dict[str, Any] = {"__module__": __name__, "model_config": config}
    if more is not None and more.annotation is not Parameter.empty:
        members["__annotations__"] = {"__pydantic_extra__": GenericAlias(dict, (str, more.annotation))}
    try:
        return create_model(handler, __base__=type("Arguments", (BaseModel,), members), **fields)
    except PydanticUserError as error:
        raise Invalid(f"Handler {handler} takes an argument that JSON cannot carry: {_first_line(error)}") from None


class _Schemas(GenerateJsonSchema):
    """Marks where code of the author converts a value before Pydantic checks it: a value of another type may fit."""

    def function_before_schema(self, schema: BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        return _marked(super().function_before_schema(schema))

    def function_wrap_schema(self, schema: WrapValidatorFunctionSchema) -> JsonSchemaValue:
        return _marked(super().function_wrap_schema(schema))


def _marked(schema: JsonSchemaValue) -> JsonSchemaValue:
    return {**schema, CONVERTED: True} if "type" in schema else schema


def _schema(model: type[BaseModel], handler: str) -> dict[str, Any]:
    try:
        schema = model.model_json_schema(schema_generator=_Schemas)
    except PydanticUserError as error:
        raise Invalid(f"Handler {handler} takes an argument that JSON cannot carry: {_first_line(error)}") from None
    for name, described in schema.get("properties", {}).items():
        _check_bounds(name, described, handler)
    return schema


def _check_bounds(name: str, described: object, handler: str) -> None:
    if (bound := _misplaced(described)) is not None:
        raise Invalid(
            f"Param({bound}=…) of argument {name} of handler {handler} is of no number.",
            hint=f"In a union it stands with the number: Annotated[int, Param({bound}=9)] | str.",
        )


def _misplaced(schema: object) -> str | None:
    """A bound of numbers at something else: JSON Schema has other words for one that is where it belongs."""
    if isinstance(schema, list):
        return next((found for part in schema if (found := _misplaced(part)) is not None), None)
    if not isinstance(schema, dict):
        return None
    here = next((bound for bound in _BOUNDS if bound in schema), None)
    return here or _misplaced([schema[word] for word in _WITHIN if word in schema])


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


_LIST = ', such as ["A", "B"]'
_HOW = {"list_type": _LIST, "tuple_type": _LIST, "set_type": _LIST, "dict_type": ', such as {"A": 1}'}
"""How to write what has parts: JSON, also behind ``name=`` on a command line."""


def _unfit(error: ValidationError, argument: str | None = None) -> Invalid:
    """What to say of it; ``argument`` is what all of it is about, if it is one alone."""
    found = []
    for detail in error.errors(include_url=False, include_input=False, include_context=False):
        place = ".".join(str(step) for step in detail["loc"]) or argument
        shown = detail["msg"] + _HOW.get(detail["type"], "")
        found.append(f"{place}: {shown}" if place else shown)
    return Invalid(f"The parameters do not fit: {'; '.join(found)}.")
