"""Settings as the parts of a coordinator take them."""

from datetime import timedelta

from orth.coordinator.alarming.judging import Rules
from orth.coordinator.alarming.loop import Persistence
from orth.coordinator.planning import Bounds
from orth.coordinator.posting import Limits
from orth.coordinator.probing import Watching
from orth.coordinator.purging import Retention
from orth.domain.alarms import Timing
from orth.settings import Settings

_ALARM_LEASE = 5_000  # ms beyond what sending may take


def watching(settings: Settings, token: str, limit: int) -> Watching:
    own = settings.registry
    return Watching(
        token=token,
        every=own.probe_every,
        rate=own.probe_rate,
        beat=own.heartbeat,
        timeout=own.probe_timeout,
        silence=own.watch_timeout,
        limit=limit,
    )


def limits(settings: Settings) -> Limits:
    own = settings.coordinator
    return Limits(
        in_flight=own.dispatch_in_flight,
        per_executor=own.dispatch_per_executor,
        breaker_after=own.breaker_failures,
        breaker_pause=own.breaker_pause.total_seconds(),
    )


def bounds(settings: Settings) -> Bounds:
    own = settings.coordinator
    return Bounds(
        misfire_threshold=_ms(own.misfire_threshold),
        catch_up_limit=own.catch_up_limit,
        catch_up_age=_ms(own.catch_up_age),
        ahead=_ms(own.plan_ahead),
    )


def retention(settings: Settings) -> Retention:
    own = settings.retention
    return Retention(executions=own.executions, fires=own.fires, statistics=own.statistics, audit=own.audit)


def alarm_rules(settings: Settings, node_id: str, *, mail: bool) -> Rules:
    own, listen = settings.alarms, settings.coordinator.listen
    return Rules(
        enabled=own.enabled,
        timing=Timing(quiet=_ms(own.quiet), gather=_ms(own.gather), repeat=_ms(own.repeat)),
        mail=mail,
        base_url=settings.console.base_url or f"{settings.security.scheme}://{listen}",
        node_id=node_id,
        lease=_ms(own.timeout) + _ALARM_LEASE,
    )


def persistence(settings: Settings) -> Persistence:
    own = settings.alarms
    return Persistence(
        at_once=own.at_once,
        attempts=own.attempts,
        first_pause=_ms(own.retry_pause),
        longest_pause=_ms(own.retry_longest),
        kept=_ms(settings.retention.executions),
    )


def _ms(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)
