"""What works but is probably not what was meant, and what is spelled as other products spell it.

It is told at the start, by ``orth config validate`` and ``orth doctor``, and on the console's page of settings. Each
has a code and the facts of its sentence, so that the console can say it in another language.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

SURPRISES: Mapping[str, str] = MappingProxyType(
    {
        "no_tls": (
            "{key} ({listen}) can be reached from other machines without TLS, so the network between can read what "
            "is said: set security.tls_certificate and tls_key, or security.behind_tls_proxy if a proxy does TLS"
        ),
        "lost_before_dead": (
            "{longer} ({long}) should be at least {shorter} ({short}): executions would be lost before their executor "
            "is"
        ),
        "silence_seen_late": (
            "{longer} ({long}) should be at least {shorter} ({short}): silence is noticed only at the next look"
        ),
        "address_guessed": (
            "executor.listen is {listen}, so coordinators are told a guessed address: set executor.address"
        ),
        "token_short": "security.access_token is shorter than {limit} characters and can be guessed",
        "other_name": "{spelling} in {place} is called {key} here",
        "other_table": "{table} is read as settings of {section}",
    }
)
"""By code."""


@dataclass(frozen=True, slots=True)
class Surprise:
    code: str
    facts: Mapping[str, str | int]

    @classmethod
    def of(cls, code: str, **facts: str | int) -> Self:
        return cls(code, facts)

    def __str__(self) -> str:
        return SURPRISES[self.code].format(**self.facts)
