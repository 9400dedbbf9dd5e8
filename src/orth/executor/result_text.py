"""What a handler returned, as the text that is reported.

What has members or elements becomes JSON, so that another handler, or a program that reads the result, finds them
again: a job that gets the result of another reads its parameters from it. Anything else is what ``str`` says.
"""

import dataclasses
from collections.abc import Mapping, Set

from pydantic import BaseModel
from pydantic_core import to_json


def result_text(value: object) -> str:
    """``value`` as text. Raises only what its own ``__str__`` raises."""
    if value is None:
        return ""
    if not _is_structured(value):
        return str(value)
    try:
        return to_json(value, inf_nan_mode="strings", fallback=_otherwise).decode()
    except Exception:  # it contains itself, say, or bytes that are no text
        return str(value)


def _is_structured(value: object) -> bool:
    if isinstance(value, Mapping | list | tuple | Set | BaseModel):
        return True
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _otherwise(value: object) -> object:
    """Something that JSON does not know, as something that it does."""
    return dict(value) if isinstance(value, Mapping) else str(value)
