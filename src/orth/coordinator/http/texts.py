"""Texts as the API accepts them: bounded, printable, and the same after a round trip through any of the databases."""

from typing import Annotated

from pydantic import AfterValidator, Field


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be one line of printable characters")
    return text.strip()


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain NUL")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must be valid Unicode text") from None
    return text


def _app_name(text: str) -> str:
    if not all(c.isascii() and (c.isalnum() or c in "-_.") for c in text):
        raise ValueError("may have letters, digits, dots, hyphens and underscores only")
    return text


Line = Annotated[str, AfterValidator(_storable), AfterValidator(_one_line)]
Prose = Annotated[str, AfterValidator(_storable)]
AppName = Annotated[str, Field(min_length=4, max_length=64), AfterValidator(_app_name)]
