"""When a failed execution is tried again: pure.

A job says how often (``executor_fail_retry_count``); its policy says after which pause, and what is not worth trying
again. Without a policy the next attempt comes at once, whatever the failure.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

GIVE_UP = ("failed", "timeout", "trigger_failed")
"""Ends that may be excluded from another attempt, as ``Status`` names them."""
LONGEST_PAUSE = 7 * 86_400
LARGEST_MULTIPLIER = 10
CODES_LIMIT = 8
LARGEST_CODE = 2**31 - 1
POLICY_LIMIT = 255
"""Characters of a policy as text."""

_DIGITS = 3
_NAMES = frozenset({"delay", "multiplier", "cap", "jitter", "give_up", "codes"})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The pause before the second attempt is ``delay`` seconds, before each further one ``multiplier`` times as long,
    and never longer than ``cap``. ``jitter`` is the part of a pause that chance may take away.
    """

    delay: float = 0.0
    multiplier: float = 1.0
    cap: float = float(LONGEST_PAUSE)
    jitter: float = 0.0
    give_up: tuple[str, ...] = ()
    """Ends after which there is no other attempt."""
    codes: tuple[int, ...] = ()
    """Codes of results after which there is none."""

    def __post_init__(self) -> None:
        if not 0 <= self.delay <= LONGEST_PAUSE or not 0 <= self.cap <= LONGEST_PAUSE:
            raise ValueError(f"delay and cap lie between 0 and {LONGEST_PAUSE} seconds")
        if not 1 <= self.multiplier <= LARGEST_MULTIPLIER:
            raise ValueError(f"multiplier lies between 1 and {LARGEST_MULTIPLIER}")
        if not 0 <= self.jitter <= 1:
            raise ValueError("jitter lies between 0 and 1")
        if not set(self.give_up) <= set(GIVE_UP):
            raise ValueError(f"give_up has only {', '.join(GIVE_UP)}")
        if len(self.codes) > CODES_LIMIT or not all(1 <= code <= LARGEST_CODE for code in self.codes):
            raise ValueError(f"codes has at most {CODES_LIMIT} codes of results")


def policy_of(values: Mapping[str, Any]) -> RetryPolicy:
    """The policy that ``values``, as the API or a row has them, describe; ``ValueError`` when they describe none."""
    unknown = sorted(values.keys() - _NAMES)
    if unknown:
        raise ValueError(f"{unknown[0]} is no part of a retry policy")
    numbers = {name: _number(values[name]) for name in ("delay", "multiplier", "cap", "jitter") if name in values}
    codes = values.get("codes", ())
    if not all(type(code) is int for code in codes):
        raise ValueError("codes are whole numbers")
    return RetryPolicy(
        **numbers, give_up=tuple(sorted(set(values.get("give_up", ())))), codes=tuple(sorted(set(codes)))
    )


def values_of(policy: RetryPolicy) -> dict[str, Any]:
    """``policy`` as the API shows it; ``policy_of`` reads it."""
    return {
        "delay": policy.delay,
        "multiplier": policy.multiplier,
        "cap": policy.cap,
        "jitter": policy.jitter,
        "give_up": list(policy.give_up),
        "codes": list(policy.codes),
    }


def text_of(policy: RetryPolicy) -> str:
    """``policy`` as it is stored, within ``POLICY_LIMIT`` characters."""
    said = {name: value for name, value in values_of(policy).items() if value != values_of(_DEFAULT)[name]}
    return json.dumps(said, separators=(",", ":"))


@lru_cache(4096)  # a job is read with every fire and every end of it
def read_policy(text: str) -> RetryPolicy:
    """The policy ``text_of`` wrote; ``ValueError`` when it is none."""
    try:
        values = json.loads(text)
        return policy_of(values)
    except (TypeError, AttributeError, RecursionError):
        raise ValueError("it is no retry policy") from None


def gives_up(policy: RetryPolicy | None, status: str, code: int) -> bool:
    """Whether an end with this status and result code is not worth another attempt."""
    return policy is not None and (status in policy.give_up or code in policy.codes)


def pause_before(policy: RetryPolicy | None, attempt: int, chance: float) -> int:
    """Milliseconds to wait before attempt number ``attempt``, the first with a pause being 2. ``chance`` lies between 0
    and 1 and takes that part of the jitter away.
    """
    if policy is None or policy.delay == 0:
        return 0
    try:
        pause = min(policy.cap, policy.delay * policy.multiplier ** max(0, attempt - 2))
    except OverflowError:
        pause = policy.cap
    return round(pause * (1 - policy.jitter * chance) * 1000)


def chance_of(execution_id: int, attempt: int) -> float:
    """A number between 0 and 1 that looks like chance and is the same whenever it is asked for: a unit of work may be
    repeated, and its second run must open what the first would have.
    """
    digest = hashlib.sha256(f"{execution_id}:{attempt}".encode()).digest()
    return int.from_bytes(digest[:8]) / 2**64


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a retry policy is made of numbers")
    return round(float(value), _DIGITS)


_DEFAULT = RetryPolicy()
