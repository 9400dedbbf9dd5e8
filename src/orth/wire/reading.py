"""How a value that a stranger sent becomes a message, or a refusal that says what is wrong with it."""

from typing import TypeVar

from pydantic import ValidationError

from orth.errors import InvalidMessage
from orth.wire.messages import Message

M = TypeVar("M", bound=Message)


def message_of(kind: type[M], value: object) -> M:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        field, told = complaint(error)
        raise InvalidMessage(told, field=field) from None


def complaint(error: ValidationError) -> tuple[str, str]:
    """The first thing wrong, without repeating what was sent: it may be large, or a secret."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    return field, f"{field}: {first['msg'].removeprefix('Value error, ')}"
