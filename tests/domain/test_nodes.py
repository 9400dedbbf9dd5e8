"""What the age of a beat says."""

import pytest

from orth.domain.nodes import Liveness, liveness, normal_address

BEAT, DEAD = 30_000, 90_000


@pytest.mark.parametrize(
    ("age", "state"),
    [
        (0, Liveness.ALIVE),
        (30_000, Liveness.ALIVE),
        (33_000, Liveness.ALIVE),
        (33_001, Liveness.MISSED_30),
        (59_999, Liveness.MISSED_30),
        (60_000, Liveness.MISSED_60),
        (89_999, Liveness.MISSED_60),
        (90_000, Liveness.MISSED_90),
    ],
)
def test_grace_steps(age: int, state: Liveness) -> None:
    assert liveness(age, BEAT, DEAD) is state


def test_addresses_are_compared_without_a_trailing_slash() -> None:
    assert normal_address(" http://10.0.0.1:9999// ") == "http://10.0.0.1:9999"


@pytest.mark.parametrize(
    ("address", "normal"),
    [
        ("HTTP://Host:1", "http://host:1"),
        ("http://host:1/Jobs/A", "http://host:1/Jobs/A"),
        ("http://HOST:1/Jobs", "http://host:1/Jobs"),
        ("HOST:1/Jobs", "HOST:1/Jobs"),
        ("", ""),
    ],
)
def test_scheme_and_host_are_compared_in_small_letters_and_the_path_is_not(address: str, normal: str) -> None:
    assert normal_address(address) == normal
    assert normal_address(normal) == normal
