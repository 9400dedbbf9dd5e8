"""The names of settings: the dotted keys, their spelling in the environment, and other names that are accepted.

An unknown name is refused with the nearest known one, because a misspelt setting that is silently ignored is found out
in production.
"""

from collections.abc import Mapping
from difflib import get_close_matches

from pydantic.fields import FieldInfo

from orth.settings.kinds import Kind
from orth.settings.sections import Section, Sections

PREFIX = "ORTH_"
SECTION_ALIASES = {"agent": "executor"}

SEED_NAMES: Mapping[str, str] = {
    "RegistryApiUrl": "registry.url",
    "OrchestratorUrl": "executor.coordinators",
    "DnsConfiguration.Suffix": "apphost.suffix",
    "DnsConfiguration.AppHostHost": "apphost.registry_host",
    "DnsConfiguration.OrchestratorHost": "apphost.coordinator_host",
    "DnsConfiguration.WorkerHostPrefix": "apphost.executor_host",
    "DnsConfiguration.VizHost": "apphost.console_host",
    "DnsConfiguration.Ports.AppHost": "apphost.registry_port",
    "DnsConfiguration.Ports.Orchestrator": "apphost.coordinator_port",
    "DnsConfiguration.Ports.Viz": "apphost.console_port",
    "DnsConfiguration.Ports.WorkerBase": "apphost.executor_port",
    "DnsConfiguration.Ports.Dashboard": "apphost.dashboard_port",
    "DnsConfiguration.WorkerCount": "apphost.executors",
}


def _fields() -> dict[str, FieldInfo]:
    known: dict[str, FieldInfo] = {}
    for section, declared in Sections.model_fields.items():
        model = declared.annotation
        assert isinstance(model, type), section
        assert issubclass(model, Section), section
        known |= {f"{section}.{name}": field for name, field in model.model_fields.items()}
    return known


FIELDS: Mapping[str, FieldInfo] = _fields()
"""Every dotted key with its declaration, in the order of the documentation."""


def kind_of(key: str) -> Kind:
    """What kind of value ``key`` takes."""
    return next(mark for mark in FIELDS[key].metadata if isinstance(mark, Kind))


def option_of(key: str) -> str | None:
    """The command-line option that sets ``key``, if there is one."""
    extra = FIELDS[key].json_schema_extra
    assert isinstance(extra, dict), key
    option = extra["option"]
    return option if isinstance(option, str) else None


def variable_of(key: str) -> str:
    """The environment variable that sets ``key``."""
    section, _, name = key.partition(".")
    return f"{PREFIX}{section}__{name}".upper()


def without_section_alias(name: str) -> str:
    """``agent.x`` as ``executor.x``; any other name as it is."""
    section, dot, rest = name.partition(".")
    return SECTION_ALIASES.get(section, section) + dot + rest


def secret_file_target(name: str) -> str | None:
    """The key whose value stands in the file that ``name`` (``security.access_token_file``) points to."""
    key = name.removesuffix("_file")
    return key if key != name and key in FIELDS and kind_of(key).sensitive else None


def nearest(name: str) -> str | None:
    """The known name a person probably meant: in the section it names, else the same key in another one."""
    section, _, key = without_section_alias(name).partition(".")
    for near in get_close_matches(section, Sections.model_fields, n=1):
        keys = [known.removeprefix(f"{near}.") for known in FIELDS if known.startswith(f"{near}.")]
        for match in get_close_matches(key, keys, n=1):
            return f"{near}.{match}"
    elsewhere = (known for known in FIELDS if known.partition(".")[2] == (key or section))
    return next(elsewhere, None) or next(iter(get_close_matches(name, SEED_NAMES, n=1)), None)
