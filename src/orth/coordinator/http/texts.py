"""Texts as the API accepts them: bounded, printable, and the same after a round trip through any of the databases."""

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from orth.domain.app_names import LONGEST, SHORTEST, trouble_with
from orth.domain.nodes import normal_address
from orth.errors import Invalid, InvalidValue, quotable
from orth.wire.addresses import checked_address


def _trimmed(value: object) -> object:
    # Before any limit is looked at: what is only blanks is empty, and composing characters can change the length.
    return unicodedata.normalize("NFC", value.strip()) if isinstance(value, str) else value


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise InvalidValue.of("field_one_line")
    return text


def _storable(text: str) -> str:
    if "\x00" in text:
        raise InvalidValue.of("field_without_nul")
    return text


def _app_name(text: str) -> str:
    if trouble := trouble_with(text):
        raise trouble
    return text


def listed_address(text: str) -> str:
    """``text`` as an address that can stand in a list, where a comma ends it."""
    try:
        address = checked_address(text.strip())
    except Invalid as error:
        raise InvalidValue.like(error) from None
    if "," in address:
        raise InvalidValue.of("address_comma", address=quotable(text, 100))
    return normal_address(address)


Line = Annotated[str, BeforeValidator(_trimmed), AfterValidator(_one_line)]
Prose = Annotated[str, AfterValidator(_storable)]
AppName = Annotated[str, Field(min_length=SHORTEST, max_length=LONGEST), AfterValidator(_app_name)]
