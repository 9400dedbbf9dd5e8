"""Next-fire search beside croniter and cronsim.

Five expressions, in UTC and in a zone with summer time, walked forward from fire to fire by each library. The libraries
take turns in every round, and what is compared are medians of processor time, so that other work on the machine counts
for none of them. The walks must end at the same fire (croniter's only in UTC: where a clock goes back, it fires fixed
times twice). Exits with 1 when a bar is missed::

    python bench/cron_next.py            # the bars as stated
    python bench/cron_next.py --quick    # a few seconds; bars lowered to 70 %, for a machine busy with other tests
"""

import argparse
import gc
import itertools
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim

from orth.domain.cron import Cron

CASES = {
    "every minute": ("* * * * *", 1000),
    "every 5 min, office hours": ("*/5 8-17 * * mon-fri", 1000),
    "daily 02:30": ("30 2 * * *", 500),
    "1st and 15th": ("0 0 1,15 * *", 300),
    "29 February": ("0 0 29 2 *", 18),
}
ZONES = ("UTC", "Europe/Berlin")
START = datetime(2026, 1, 1, 12, tzinfo=UTC)

TIMES_CRONITER = 8.0
TIMES_CRONSIM = 1.0
QUICK_TOLERANCE = 0.7

WIDTHS = ("<27", "<15", ">9", ">12", ">13", ">11", ">12")

Walk = Callable[[int], int]
"""Takes so many steps and returns the last fire, in epoch seconds."""


def orth_walk(text: str, zone: str) -> Walk:
    cron = Cron.parse(text, zone)
    start = int(START.timestamp()) * 1000

    def walk(steps: int) -> int:
        instant: int | None = start
        for _ in range(steps):
            assert instant is not None
            instant = cron.next_after(instant)
        assert instant is not None
        return instant // 1000

    return walk


def croniter_walk(text: str, zone: str) -> Walk:
    fires = croniter(text, START.astimezone(ZoneInfo(zone)), ret_type=datetime)

    def walk(steps: int) -> int:
        for _ in range(steps):
            instant = fires.get_next()
        return int(instant.timestamp())

    return walk


def cronsim_walk(text: str, zone: str) -> Walk:
    # Its own UTC constant is the one it treats as needing no zone arithmetic.
    fires = CronSim(text, START if zone == "UTC" else START.astimezone(ZoneInfo(zone)))

    def walk(steps: int) -> int:
        for _ in range(steps):
            instant = next(fires)
        return int(instant.timestamp())

    return walk


LIBRARIES = {"orth": orth_walk, "croniter": croniter_walk, "cronsim": cronsim_walk}


def measure(text: str, zone: str, steps: int, rounds: int) -> dict[str, float]:
    """Microseconds of processor time per step of each library, the median of the rounds."""
    spans: dict[str, list[float]] = {name: [] for name in LIBRARIES}
    order = list(LIBRARIES)
    for _ in range(rounds):
        ends = {}
        for name in order:
            walk = LIBRARIES[name](text, zone)
            began = time.thread_time()
            ends[name] = walk(steps)
            spans[name].append((time.thread_time() - began) / steps * 1e6)
        if ends["cronsim"] != ends["orth"] or (zone == "UTC" and ends["croniter"] != ends["orth"]):
            raise SystemExit(f"{text} in {zone}: the libraries disagree: {ends}")
        order.append(order.pop(0))
    return {name: statistics.median(values) for name, values in spans.items()}


def row(*cells: str) -> str:
    return "".join(f"{cell:{width}}" for cell, width in zip(cells, WIDTHS, strict=True))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="fewer rounds, and bars lowered to 70 %%")
    quick = arguments.parse_args().quick
    rounds, tolerance = (11, QUICK_TOLERANCE) if quick else (21, 1.0)
    bar_cronsim, bar_croniter = TIMES_CRONSIM * tolerance, TIMES_CRONITER * tolerance
    print(row("expression", "zone", "orth µs", "cronsim µs", "croniter µs", "× cronsim", "× croniter"))
    missed = 0
    gc.disable()
    for zone, (name, (text, steps)) in itertools.product(ZONES, CASES.items()):
        micros = measure(text, zone, steps, rounds)
        by_cronsim, by_croniter = micros["cronsim"] / micros["orth"], micros["croniter"] / micros["orth"]
        fine = by_cronsim >= bar_cronsim and by_croniter >= bar_croniter
        missed += not fine
        figures = (micros["orth"], micros["cronsim"], micros["croniter"], by_cronsim, by_croniter)
        print(row(name, zone, *(f"{figure:.2f}" for figure in figures)) + ("" if fine else "  MISSED"))
        gc.collect()
    print(f"bars: {bar_cronsim:g} times cronsim, {bar_croniter:g} times croniter; missed: {missed}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
