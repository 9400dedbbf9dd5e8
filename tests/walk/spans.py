"""What ``span_jobs`` wrote down, and whether two executions of one job were inside their handler at the same time."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path


@dataclass(frozen=True, order=True)
class Span:
    """One execution inside its handler, in microseconds; ``end`` is None where it never came out."""

    start: int
    end: int | None
    execution: int
    process: int


def spans_of(notes: Path, died: Mapping[int, int] | None = None) -> dict[tuple[int, int], list[Span]]:
    """By job and shard, in order of their start. What never ended in a process that ``died`` ended with it."""
    began: dict[int, tuple[tuple[int, int], int, int]] = {}
    ended: dict[int, int] = {}
    for line in notes.read_text().splitlines() if notes.exists() else []:
        what, job, shard, execution, process, at = line.split()
        if what == "began":
            assert int(execution) not in began, f"execution {execution} ran twice"
            began[int(execution)] = (int(job), int(shard)), int(at), int(process)
        else:
            ended[int(execution)] = int(at)
    found: dict[tuple[int, int], list[Span]] = defaultdict(list)
    for execution, (key, at, process) in began.items():
        end = ended.get(execution, (died or {}).get(process))
        found[key].append(Span(at, end, execution, process))
    return {key: sorted(spans) for key, spans in found.items()}


def overlaps(spans: Mapping[tuple[int, int], list[Span]]) -> list[tuple[Span, Span]]:
    """Each execution that began before the one before it had ended, with that one."""
    pairs = [pair for some in spans.values() for pair in pairwise(some)]
    return [(one, following) for one, following in pairs if one.end is None or following.start < one.end]
