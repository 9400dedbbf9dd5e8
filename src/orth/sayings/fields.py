"""About one field of a request."""

from collections.abc import Mapping

SAYINGS: Mapping[str, tuple[str, str]] = {
    "invalid_request": (
        "The request cannot be accepted.",
        "",
    ),
    "field_missing": (
        "This is missing.",
        "",
    ),
    "field_unknown": (
        "There is no such field.",
        "",
    ),
    "field_too_long": (
        "This may have {limit} characters at most.",
        "",
    ),
    "field_too_short": (
        "This has {limit} characters at least.",
        "",
    ),
    "field_too_many": (
        "There may be {limit} of these at most.",
        "",
    ),
    "field_too_few": (
        "There must be {limit} of these at least.",
        "",
    ),
    "field_at_least": (
        "This must be {limit} or more.",
        "",
    ),
    "field_at_most": (
        "This must be {limit} or less.",
        "",
    ),
    "field_above": (
        "This must be more than {limit}.",
        "",
    ),
    "field_below": (
        "This must be less than {limit}.",
        "",
    ),
    "field_not_number": (
        "This must be a whole number.",
        "",
    ),
    "field_not_decimal": (
        "This must be a number.",
        "",
    ),
    "field_not_text": (
        "This must be a text.",
        "",
    ),
    "field_not_yes_no": (
        "This must be true or false.",
        "",
    ),
    "field_not_one_of": (
        "This must be one of {expected}.",
        "",
    ),
    "field_not_list": (
        "This must be a list.",
        "",
    ),
    "field_not_object": (
        "This must be an object.",
        "",
    ),
    "field_not_formed": (
        "This does not have the form it must have.",
        "",
    ),
    "field_not_json": (
        "This is not JSON.",
        "",
    ),
    "field_one_line": (
        "This must be one line of printable characters.",
        "",
    ),
    "field_ascii": (
        "This must be printable ASCII characters.",
        "",
    ),
    "field_without_nul": (
        "This must not contain NUL.",
        "",
    ),
    "text_unstorable": (
        "A text in it has NUL or half of a character, which no database keeps.",
        "Leave it out.",
    ),
    "field_too_long_in_all": (
        "This may have {limit:,} characters in all.",
        "",
    ),
    "field_refused": (
        "This cannot be accepted: {said}.",
        "",
    ),
    "app_name_characters": (
        "It may have letters, digits, dots, hyphens and underscores only.",
        "",
    ),
    "app_name_length": (
        "It must have {shortest} to {longest} characters and has {length}.",
        "",
    ),
    "address_too_long": (
        "The address '{address}' is longer than {limit} characters.",
        "It looks like http://10.0.0.7:9999, with https and a path if needed.",
    ),
    "address_not_base_url": (
        "The address '{address}' is not an http or https base URL.",
        "It looks like http://10.0.0.7:9999, with https and a path if needed.",
    ),
    "address_port": (
        "The address '{address}' has a port outside 1 to 65535.",
        "It looks like http://10.0.0.7:9999, with https and a path if needed.",
    ),
    "address_climbs": (
        "The address '{address}' has a path that climbs.",
        "It looks like http://10.0.0.7:9999, with https and a path if needed.",
    ),
    "address_not_an_ip": (
        "The address '{address}' has a host that is not a valid IP address.",
        "It looks like http://10.0.0.7:9999, with https and a path if needed.",
    ),
    "address_not_a_name": (
        "The address '{address}' has a host that is not a valid name.",
        "It looks like http://10.0.0.7:9999, with https and a path if needed.",
    ),
    "address_of_nobody": (
        "The address '{address}' names no single machine.",
        "It looks like http://10.0.0.7:9999, with https and a path if needed.",
    ),
    "address_comma": (
        "The address '{address}' has a comma.",
        "",
    ),
}
