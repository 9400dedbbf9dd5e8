"""Settings: one frozen struct for every role, read once at the start and passed as an argument from there.

``load_settings`` puts the layers on top of each other, default < file < environment < option, and remembers where each
value came from. No other part of the product reads a settings file or these variables. A load either gives settings
whose values all have their kind and agree with each other, or raises ``BadSettings`` with every problem at once.

* ``values`` — durations, addresses, URLs: how they are written
* ``kinds`` — the types of settings
* ``sections`` — every setting, its default and its explanation
* ``checking`` — what settings must be to each other
* ``names`` — keys, environment variables, older names; the nearest known name
* ``layers`` — what the file, the environment and the options say, and where
* ``struct`` — the settings with their origins
* ``loading`` — from the layers to the struct
* ``describing`` — documentation, and values for people to read
"""

from orth.settings.checking import Check
from orth.settings.describing import SettingDescription, as_text, describe_settings, show
from orth.settings.loading import load_settings
from orth.settings.struct import Settings
from orth.settings.values import Address, format_duration, parse_duration

__all__ = [
    "Address",
    "Check",
    "SettingDescription",
    "Settings",
    "as_text",
    "describe_settings",
    "format_duration",
    "load_settings",
    "parse_duration",
    "show",
]
