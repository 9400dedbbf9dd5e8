"""The long form: each target for so many seconds, with new inputs every time. ``make fuzz SECONDS=180``.

``python -m tests.fuzz SECONDS [NAME …]`` tries the targets whose name holds one of the words. The exit value is 1 when
anything was found; the input that shows it, made as small as possible, is printed.
"""

import os
import sys
import time
import traceback
from random import Random

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz import api
from tests.fuzz.mutations import varied
from tests.fuzz.target import MEMORY_BOUND, Tally, Target, examine
from tests.fuzz.test_fuzz import ALL

_ROUND = 50
_AROUND = 30
"""How many variations of each input are tried: they cost a tenth of what it costs to think of one."""
_FORMAT = "{:<42} {:>10} {:>9} {:>8} {:>10} {:>9}"


def run(target: Target, seconds: float) -> bool:
    """Rounds of new inputs until the time is over; whether nothing was found."""
    tally = Tally()
    began = time.monotonic()
    found: BaseException | None = None
    while found is None and time.monotonic() - began < seconds:
        try:
            _one_round(target, tally)
        except Exception as finding:
            found = finding
    spent = time.monotonic() - began
    share = f"{tally.refused / max(1, tally.inputs):.0%}"
    slowest = f"{tally.slowest * 1000:.2f} ms"
    grown = f"{tally.grown // 1024} MiB"
    print(_FORMAT.format(target.name, tally.inputs, f"{tally.inputs / spent:.0f}/s", share, slowest, grown))
    print(f"    slowest: {tally.slowest_input}")
    if found is not None:
        print("".join(traceback.format_exception(found)), flush=True)
    return found is None and tally.grown <= MEMORY_BOUND


def _one_round(target: Target, tally: Tally) -> None:
    @seed(int.from_bytes(os.urandom(8), "big"))
    @settings(
        max_examples=_ROUND,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(target.inputs, st.integers(0, 2**32))
    def check(value: object, start: int) -> None:
        chance = Random(start)
        examine(target, value, tally)
        for _ in range(_AROUND):
            examine(target, varied(value, chance), tally)

    check()


def main(arguments: list[str]) -> int:
    seconds = float(arguments[0]) if arguments else 60.0
    chosen = [one for one in ALL if not arguments[1:] or any(word in one.name for word in arguments[1:])]
    print(_FORMAT.format("target", "inputs", "rate", "refused", "slowest", "memory"))
    fine = [run(target, seconds) for target in chosen]
    if not arguments[1:] or any(word in api.NAME for word in arguments[1:]):
        fine.append(api.run(seconds))
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
