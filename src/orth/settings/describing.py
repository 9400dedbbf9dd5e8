"""Settings for people: what can be set, and what is set."""

from collections.abc import Iterator
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr

from orth.settings.names import FIELDS, kind_of, option_of, variable_of
from orth.settings.sections import Sections
from orth.settings.values import HIDDEN, Address, format_duration, hide_passwords

Shown = str | int | bool | list["Shown"] | None
"""A value as JSON can hold it."""


class SettingDescription(NamedTuple):
    """One line of the documentation."""

    key: str
    type: str
    default: Shown
    explanation: str


def describe_settings() -> Iterator[SettingDescription]:
    """Everything that can be set, in the order of the sections."""
    for key, field in FIELDS.items():
        yield SettingDescription(key, kind_of(key).name, show(field.default), field.description or "")


def show(value: object) -> Shown:
    """``value`` as people write it, secrets hidden."""
    match value:
        case None | bool() | int():
            return value
        case timedelta():
            return format_duration(value)
        case SecretStr():
            return HIDDEN
        case tuple():
            return [show(item) for item in value]
        case str():
            return hide_passwords(value)
        case Path() | Address() | IPv4Network() | IPv6Network():
            return str(value)
    raise TypeError(f"no setting is a {type(value).__name__}")


def as_text(shown: Shown) -> str:
    """A shown value in a line of text."""
    match shown:
        case None:
            return ""
        case bool():
            return str(shown).lower()
        case list():
            return ", ".join(map(as_text, shown))
    return str(shown)


def settings_page() -> str:
    """The text of docs/settings.md."""
    return _INTRODUCTION + "".join(_section(name) for name in Sections.model_fields)


def _section(name: str) -> str:
    purpose = Sections.model_fields[name].default.__doc__
    rows = [_row(setting) for setting in describe_settings() if setting.key.partition(".")[0] == name]
    head = "| Setting | Type | Default | Meaning |\n|---|---|---|---|\n"
    return f"\n## {name}\n\n{purpose}\n\n{head}{''.join(rows)}"


def _row(setting: SettingDescription) -> str:
    option = option_of(setting.key)
    default = "" if setting.default is None or setting.default == [] else f"`{as_text(setting.default)}`"
    names = f"`{setting.key}`<br>`{variable_of(setting.key)}`" + (f"<br>`{option}`" if option else "")
    return f"| {names} | {setting.type} | {default} | {setting.explanation} |\n"


_INTRODUCTION = """\
# Settings

<!-- Made from src/orth/settings/sections.py. Rewrite with: python -m orth.settings > docs/settings.md -->

One file, `orth.toml`, serves every role. It is the one named by `--config`, else by `ORTH_CONFIG`, else `orth.toml` in
the working directory. A setting `section.key` is written

```toml
[section]
key = "value"
```

and can be overridden by the environment variable `ORTH_SECTION__KEY` and, where the table names one, by a command-line
option: default < file < environment < option. `orth config view --show-origin` shows every value and where it came
from; `orth config validate` checks without starting anything. An empty environment variable counts as not set.

* Durations are a number and a unit, `500ms`, `30s`, `5m`, `1h30m`, `10d`. Sizes are numbers of bytes.
* Lists are TOML lists in the file, and separated by commas in the environment and in options.
* Secrets, and URLs that may hold a password, can stand in a file of their own: `access_token_file` in `orth.toml` or
  `ORTH_SECURITY__ACCESS_TOKEN_FILE` in the environment names it.
* Relative paths start at the working directory.
* A name that is not known is refused, with the nearest one that is. Every problem is reported at once.
* The section `agent` is another name for `executor`. `RegistryApiUrl` stands for `registry.url`, `OrchestratorUrl` for
  `executor.coordinators`. The members of `DnsConfiguration` (`Suffix`, `AppHostHost`, `OrchestratorHost`,
  `WorkerHostPrefix`, `VizHost`, `WorkerCount`, and `AppHost`, `Orchestrator`, `Viz`, `WorkerBase`, `Dashboard` of its
  `Ports`) are settings of `apphost`.
"""
