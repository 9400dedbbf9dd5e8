"""What is wrong with a field, as Pydantic found it: a sentence, and a code of ``orth.sayings`` with its facts."""

from collections.abc import Mapping
from typing import Any

from orth.errors import Invalid, OrthError

KINDS: Mapping[str, tuple[str, str | None]] = {
    "missing": ("field_missing", None),
    "extra_forbidden": ("field_unknown", None),
    "string_too_long": ("field_too_long", "max_length"),
    "string_too_short": ("field_too_short", "min_length"),
    "too_long": ("field_too_many", "max_length"),
    "too_short": ("field_too_few", "min_length"),
    "greater_than_equal": ("field_at_least", "ge"),
    "less_than_equal": ("field_at_most", "le"),
    "greater_than": ("field_above", "gt"),
    "less_than": ("field_below", "lt"),
    "int_type": ("field_not_number", None),
    "int_parsing": ("field_not_number", None),
    "int_from_float": ("field_not_number", None),
    "int_parsing_size": ("field_not_number", None),
    "float_type": ("field_not_decimal", None),
    "float_parsing": ("field_not_decimal", None),
    "finite_number": ("field_not_decimal", None),
    "string_type": ("field_not_text", None),
    "string_unicode": ("field_not_text", None),
    "bool_type": ("field_not_yes_no", None),
    "bool_parsing": ("field_not_yes_no", None),
    "enum": ("field_not_one_of", "expected"),
    "literal_error": ("field_not_one_of", "expected"),
    "list_type": ("field_not_list", None),
    "dict_type": ("field_not_object", None),
    "model_type": ("field_not_object", None),
    "model_attributes_type": ("field_not_object", None),
    "string_pattern_mismatch": ("field_not_formed", None),
    "json_invalid": ("field_not_json", None),
}
"""By what Pydantic calls it: the code, and the member of its context that is a fact."""
_HOW = {"list_type": ', such as ["A", "B"]', "dict_type": ', such as {"A": 1}'}


def sentence_of(one: Mapping[str, Any]) -> str:
    if one["type"] == "extra_forbidden":
        return "there is no such field"
    return str(one["msg"]).removeprefix("Value error, ") + _HOW.get(one["type"], "")


def kind_of(one: Mapping[str, Any]) -> dict[str, Any]:
    """The code and the facts of an error. One of a kind that is not among ours is told in the words of Pydantic."""
    context = one.get("ctx", {})
    own = context.get("error")
    if isinstance(own, OrthError) and own.code is not None:
        return {"code": own.code, "facts": dict(own.facts)}
    code, member = KINDS.get(one["type"], ("field_refused", None))
    if code == "field_refused":
        return {"code": code, "facts": {"said": sentence_of(one).rstrip(".")}}
    if member is None:
        return {"code": code, "facts": {}}
    value, fact = context[member], "expected" if member == "expected" else "limit"
    return {"code": code, "facts": {fact: value if isinstance(value, int) else str(value)}}


class WrongField(Invalid):
    """What Pydantic found, as a refusal by itself: that the request is wrong, and in ``trouble`` what the field is."""

    code = "invalid_request"

    def __init__(self, one: Mapping[str, Any], field: str) -> None:
        sentence = sentence_of(one)
        super().__init__(f"{field}: {sentence.rstrip('.')}.", field=field)
        self.trouble = {"message": sentence, **kind_of(one)}
