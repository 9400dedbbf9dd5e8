"""What a process needs to know to register: its share of the settings, with spans in seconds."""

from collections.abc import Sequence
from dataclasses import dataclass

from orth.lifecycle.ladder import Ladder
from orth.settings import Settings
from orth.settings.sections import ExecutorSection

REGISTRY = "registry.url"
_LADDER = Ladder((0.0, 5.0, 10.0, 20.0, 40.0), 120.0)


@dataclass(frozen=True, slots=True)
class LifecycleSettings:
    """The defaults are those of the settings file."""

    registry: tuple[str, ...] = ()
    """Addresses of the registry, equal to each other; none: registration is not configured."""
    missing: str = f"{REGISTRY} is not set"
    """Why there is none."""
    optional: bool = False
    """Whether it is an executor's coordinators, of which those of another make have no Registry API."""
    ladder: Ladder = _LADDER
    settle: float = 2.0
    timeout: float = 10.0
    heartbeat: float = 30.0
    breaker_failures: int = 10
    breaker_cooldown: float = 300.0
    discover: float = 30.0
    learns: bool = False
    """Whether an executor goes by the registry's list of coordinators."""

    @classmethod
    def of(cls, settings: Settings, otherwise: Sequence[str], *, optional: bool = False) -> "LifecycleSettings":
        """``otherwise`` is whom to ask where nobody has said which registry; ``optional`` is said of those."""
        own = settings.registry
        emptied = own.url is None and settings.origin(REGISTRY) != "default"
        return cls(
            registry=(own.url,) if own.url else () if emptied else tuple(otherwise),
            optional=optional and own.url is None and not emptied,
            missing=f"{REGISTRY} is {f'empty ({settings.origin(REGISTRY)})' if emptied else 'not set'}",
            ladder=Ladder(
                tuple(pause.total_seconds() for pause in own.register_pauses), own.register_again.total_seconds()
            ),
            settle=own.settle.total_seconds(),
            timeout=own.timeout.total_seconds(),
            heartbeat=own.heartbeat.total_seconds(),
            breaker_failures=own.breaker_failures,
            breaker_cooldown=own.breaker_cooldown.total_seconds(),
            discover=own.discover.total_seconds(),
            learns=own.url is not None,
        )


def chosen_coordinators(settings: Settings) -> tuple[str, ...]:
    """The coordinators of an executor that somebody has chosen. Where a registry is set and knows them, the default is
    nobody's choice.
    """
    given, default = settings.executor.coordinators, ExecutorSection().coordinators
    chosen = given != default or settings.origin("executor.coordinators") != "default"
    return given if chosen or settings.registry.url is None else ()
