"""What settings must be to each other.

A *problem* can never work, or only by luck, and refuses the start; a *surprise* works but is probably not what was
meant, and is told as a warning. Each rule names the keys it compares, so that a value that could not be read is not
reported a second time in comparisons.
"""

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import parse_qs, urlsplit

from pydantic import SecretStr

from orth.guessable import is_guessable
from orth.settings.sections import Sections
from orth.settings.surprises import Surprise
from orth.settings.values import Address, format_duration

T = TypeVar("T")

_SHORTEST_GOOD_TOKEN = 16
_FEWEST_CHARACTERS = 6
_SHORTEST_PASSWORD = 10
_SHIPPED_TOKENS = frozenset({"default_token"})
"""What every installation of some scheduler has, and so everybody knows."""


class Check(NamedTuple):
    """What was found: ``problems`` refuse, ``warnings`` are told."""

    problems: tuple[str, ...]
    warnings: tuple[Surprise, ...]


@dataclass(frozen=True, slots=True)
class Rule(Generic[T]):
    """One comparison; ``finding`` says what is wrong, or nothing."""

    keys: tuple[str, ...]
    finding: Callable[[Sections], T | None]


def check_sections(settings: Sections, *, unreadable: Set[str] = frozenset()) -> Check:
    """Apply every rule that compares no ``unreadable`` key."""
    return Check(tuple(_findings(RULES, settings, unreadable)), tuple(_findings(SURPRISING, settings, unreadable)))


def _findings(rules: Iterable[Rule[T]], settings: Sections, unreadable: Set[str]) -> Iterator[T]:
    for rule in rules:
        found = rule.finding(settings) if unreadable.isdisjoint(rule.keys) else None
        if found is not None:
            yield found


def _span(settings: Sections, key: str) -> timedelta:
    span = settings.value(key)
    assert isinstance(span, timedelta), key
    return span


def _at_least(longer: str, shorter: str, why: str, *, times: int = 1) -> Rule[str]:
    def finding(settings: Sections) -> str | None:
        long, short = _span(settings, longer), _span(settings, shorter)
        if long >= times * short:
            return None
        bound = f"{times} × {shorter}" if times > 1 else shorter
        return f"{longer} ({format_duration(long)}) must be at least {bound} ({format_duration(short)}): {why}"

    return Rule((longer, shorter), finding)


def _better_at_least(longer: str, shorter: str, code: str) -> Rule[Surprise]:
    def finding(settings: Sections) -> Surprise | None:
        long, short = _span(settings, longer), _span(settings, shorter)
        if long >= short:
            return None
        spans = {"long": format_duration(long), "short": format_duration(short)}
        return Surprise.of(code, longer=longer, shorter=shorter, **spans)

    return Rule((longer, shorter), finding)


def _needs_token(key: str, *, only_for: str | None = None) -> Rule[str]:
    """An address others can reach needs a token; ``only_for`` is the one transport that opens it."""

    def finding(settings: Sections) -> str | None:
        listen = settings.value(key)
        assert isinstance(listen, Address), key
        opened = only_for is None or settings.executor.transport == only_for
        if not opened or listen.is_loopback or settings.security.access_token is not None:
            return None
        # A coordinator makes a token of its own there, and an executor takes that one: it never works without.
        way = ", or listen on 127.0.0.1" + (" beside a coordinator, which has one" if key == "executor.listen" else "")
        return f"{key} ({listen}) can be reached from other machines: set security.access_token{way}"

    keys = (key, "security.access_token")
    return Rule((*keys, "executor.transport") if only_for else keys, finding)


def _needs_good_token(key: str, token_key: str, *, only_for: str | None = None) -> Rule[str]:
    """Where others can reach it, nobody guesses the token."""

    def finding(settings: Sections) -> str | None:
        listen, token = settings.value(key), settings.value(token_key)
        assert isinstance(listen, Address), key
        opened = only_for is None or settings.executor.transport == only_for
        if not opened or listen.is_loopback or not isinstance(token, SecretStr):
            return None
        weakness = _weakness(token.get_secret_value())
        if weakness is None:
            return None
        return (
            f"{key} ({listen}) can be reached from other machines, and {token_key} {weakness}: "
            "make another, such as with openssl rand -hex 32, or listen on 127.0.0.1"
        )

    keys = (key, token_key)
    return Rule((*keys, "executor.transport") if only_for else keys, finding)


def _weakness(token: str) -> str | None:
    if token in _SHIPPED_TOKENS:
        return "is one that everybody knows"
    if len(token) < _SHORTEST_GOOD_TOKEN:
        return f"is shorter than {_SHORTEST_GOOD_TOKEN} characters"
    if is_guessable(token):
        return "is one of the first that anybody tries"
    return "repeats a few characters" if len(set(token)) < _FEWEST_CHARACTERS else None


def _needs_good_password() -> Rule[str]:
    """Where others can reach it, the first user's password is no worse than one that people may choose."""

    def finding(settings: Sections) -> str | None:
        listen, password = settings.coordinator.listen, settings.security.admin_password
        if listen.is_loopback or password is None:
            return None
        short = len(password.get_secret_value()) < _SHORTEST_PASSWORD
        if not short and not is_guessable(password.get_secret_value()):
            return None
        weakness = f"shorter than {_SHORTEST_PASSWORD} characters" if short else "one of the first that anybody tries"
        return (
            f"coordinator.listen ({listen}) can be reached from other machines, and security.admin_password is "
            f"{weakness}: choose another, or leave it unset and one is made"
        )

    return Rule(("coordinator.listen", "security.admin_password"), finding)


def _needs_tls(key: str, *, only_for: str | None = None) -> Rule[Surprise]:
    """Told, not refused: what is in front, or whose the network is, nobody here can know."""

    def finding(settings: Sections) -> Surprise | None:
        listen, security = settings.value(key), settings.security
        assert isinstance(listen, Address), key
        opened = only_for is None or settings.executor.transport == only_for
        if not opened or listen.is_loopback or security.tls_certificate is not None or security.behind_tls_proxy:
            return None
        return Surprise.of("no_tls", key=key, listen=str(listen))

    keys = (key, "security.tls_certificate", "security.behind_tls_proxy")
    return Rule((*keys, "executor.transport") if only_for else keys, finding)


def _handoffs_fit(settings: Sections) -> str | None:
    cluster = settings.cluster
    needed = cluster.handoff_tries * cluster.handoff_ack_timeout
    if cluster.handoff_hard_timeout >= needed:
        return None
    return (
        f"cluster.handoff_hard_timeout ({format_duration(cluster.handoff_hard_timeout)}) must be at least "
        f"cluster.handoff_tries × cluster.handoff_ack_timeout ({format_duration(needed)}): "
        "a drain would stop before its last try"
    )


def _issuer_is_whole(settings: Sections) -> str | None:
    own = settings.security
    if own.oidc_issuer is None:
        return None
    if own.oidc_client_id is None:
        return "security.oidc_issuer is set: set security.oidc_client_id as well"
    parts = urlsplit(own.oidc_issuer)
    if parts.scheme != "https" and not Address(parts.hostname or "", 0).is_loopback:
        return "security.oidc_issuer must begin with https://: whoever is between could sign in as anybody"
    return None


def _lease_has_redis(settings: Sections) -> str | None:
    if settings.cluster.lease_provider != "redis" or settings.channels_url.startswith(("redis:", "rediss:")):
        return None
    return "cluster.lease_provider is redis, but channels.url names no Redis: set it to redis://host:port/n"


def redis_is_open(url: str) -> bool:
    """Whether ``url`` names a Redis on another machine and no password for it."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:  # whoever connects says what is wrong with it
        return False
    there = parts.scheme in ("redis", "rediss") and bool(host) and not Address(host, 0).is_loopback
    return there and not (parts.password or "password" in parse_qs(parts.query))


def _redis_has_password(settings: Sections) -> str | None:
    if settings.channels.open_redis or not redis_is_open(settings.channels_url):
        return None
    return (
        "channels.url names a Redis on another machine without a password, so anybody there could give work to "
        "executors: write redis://user:password@host, or set channels.open_redis"
    )


def _address_is_known(settings: Sections) -> Surprise | None:
    executor = settings.executor
    if executor.transport != "push" or executor.address or not executor.listen.is_every_interface:
        return None
    return Surprise.of("address_guessed", listen=str(executor.listen))


def _key_has_certificate(settings: Sections) -> str | None:
    security = settings.security
    if (security.tls_certificate is None) == (security.tls_key is None):
        return None
    return "security.tls_certificate and security.tls_key belong together: set both, or none"


def _verifying_has_files(settings: Sections) -> str | None:
    security = settings.security
    if not security.tls_verify_clients or (security.tls_certificate is not None and security.tls_client_ca is not None):
        return None
    return "security.tls_verify_clients needs security.tls_client_ca, tls_certificate and tls_key: set them too"


def _token_is_long(settings: Sections) -> Surprise | None:
    token = settings.security.access_token
    if token is None or len(token.get_secret_value()) >= _SHORTEST_GOOD_TOKEN:
        return None
    return Surprise.of("token_short", limit=_SHORTEST_GOOD_TOKEN)


RULES: tuple[Rule[str], ...] = (
    _at_least("cluster.lease", "cluster.lease_renew", "one late renewal would end a leadership", times=2),
    _at_least("cluster.dead_after", "cluster.heartbeat", "one late beat would count as a death", times=2),
    _at_least("registry.dead_after", "registry.heartbeat", "one late beat would remove a process", times=2),
    _at_least("registry.dead_after", "executor.heartbeat", "one late beat would remove an executor", times=2),
    _at_least("security.refresh_token_ttl", "security.access_token_ttl", "a sign-in could never be refreshed"),
    _at_least("security.session_ttl", "security.refresh_token_ttl", "a refresh token would outlive its session"),
    Rule(("security.oidc_issuer", "security.oidc_client_id"), _issuer_is_whole),
    _at_least("coordinator.unknown_bound", "coordinator.dispatch_timeout", "triggers would fail while awaited"),
    _at_least("coordinator.catch_up_age", "coordinator.misfire_threshold", "no missed fire would ever be made up for"),
    Rule(("cluster.handoff_hard_timeout", "cluster.handoff_tries", "cluster.handoff_ack_timeout"), _handoffs_fit),
    Rule(("cluster.lease_provider", "channels.url"), _lease_has_redis),
    Rule(("channels.url", "channels.open_redis"), _redis_has_password),
    Rule(("security.tls_certificate", "security.tls_key"), _key_has_certificate),
    Rule(("security.tls_verify_clients", "security.tls_client_ca", "security.tls_certificate"), _verifying_has_files),
    _needs_token("coordinator.listen"),
    _needs_token("executor.listen", only_for="push"),
    *(
        rule
        for token_key in ("security.access_token", "security.access_token_previous")
        for rule in (
            _needs_good_token("coordinator.listen", token_key),
            _needs_good_token("executor.listen", token_key, only_for="push"),
        )
    ),
    _needs_good_password(),
)
SURPRISING: tuple[Rule[Surprise], ...] = (
    _needs_tls("coordinator.listen"),
    _needs_tls("executor.listen", only_for="push"),
    _better_at_least("coordinator.lost_after", "registry.dead_after", "lost_before_dead"),
    _better_at_least("registry.dead_after", "registry.monitor", "silence_seen_late"),
    Rule(("executor.transport", "executor.address", "executor.listen"), _address_is_known),
    Rule(("security.access_token",), _token_is_long),
)
