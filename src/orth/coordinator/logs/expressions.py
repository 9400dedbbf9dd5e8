"""What a text is looked for by: literally, or by a regular expression.

A regular expression of a stranger may take longer than the universe has, and in this process it would stop everything
else meanwhile; even to compile one may take long. So both happen in another process, with a limit for each step; past
that the process is ended and the expression refused. Here it is nothing but text.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from orth.coordinator.logs.shown import STAMP
from orth.errors import Invalid, Unavailable

COMPILED_WITHIN = 5.0
"""Seconds in which the process has to have begun and compiled the expression."""
PAGE_WITHIN = 3.0
"""Seconds in which a regular expression has to be done with one page."""
_ANSWER_LIMIT = 4 * 1024 * 1024
_PROGRAM = Path(__file__).with_name("expression_process.py")

Fit = tuple[int, int, int]
"""Which of some texts fits, and where in it the match begins and ends."""
Matching = Callable[[Sequence[str]], Awaitable[list[Fit]]]


@asynccontextmanager
async def literal(wanted: str, *, ignore_case: bool) -> AsyncIterator[Matching]:
    """Texts that contain ``wanted``."""
    sought = wanted.casefold() if ignore_case else wanted

    def fits(texts: Sequence[str]) -> list[Fit]:
        found: list[Fit] = []
        together = "\n".join(texts)  # one look at all is a tenth of a look at each, and most pages have nothing
        if sought not in (together.casefold() if ignore_case else together):
            return found
        for index, text in enumerate(texts):
            start = (text.casefold() if ignore_case else text).find(sought)
            if start >= 0:
                found.append((index, *_span(text, start, start + len(sought), folded=ignore_case)))
        return found

    async def matching(texts: Sequence[str]) -> list[Fit]:
        return await asyncio.to_thread(fits, texts)

    yield matching


@asynccontextmanager
async def expression(wanted: str, *, ignore_case: bool) -> AsyncIterator[Matching]:
    """Texts in which the regular expression ``wanted`` finds something. What is about their beginning is also found
    behind their time.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-S",
        str(_PROGRAM),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=_ANSWER_LIMIT,
    )
    talk = _Talk(process)
    try:
        await talk.begin(wanted, ignore_case)
        yield talk.matching
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


class _Talk:
    """Questions to the process, and its answers."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._asking, self._answers = process.stdin, process.stdout

    async def begin(self, wanted: str, ignore_case: bool) -> None:
        """Have the expression compiled."""
        complaint = await self._ask(
            {"expression": wanted, "ignore_case": ignore_case, "stamp": STAMP.pattern},
            COMPILED_WITHIN,
            "expression_slow_to_compile",
        )
        if complaint is not None:
            raise Invalid.of("not_a_regular_expression", said=str(complaint), field="q")

    async def matching(self, texts: Sequence[str]) -> list[Fit]:
        fits = await self._ask(list(texts), PAGE_WITHIN, "expression_slow")
        return [(index, start, end) for index, start, end in fits]

    async def _ask(self, message: object, within: float, slow: str) -> Any:
        try:
            async with asyncio.timeout(within):
                with suppress(ConnectionError):  # it has ended; the answer that does not come says so
                    self._asking.write(json.dumps(message).encode() + b"\n")
                    await self._asking.drain()
                answer = await self._answers.readline()
        except TimeoutError:
            raise Invalid.of(slow, seconds=f"{within:g}", field="q") from None
        except ValueError:
            answer = b""  # longer than it can be
        if not answer.endswith(b"\n"):
            raise Unavailable.of("search_broke_off")
        return json.loads(answer)


def _span(text: str, start: int, end: int, *, folded: bool) -> tuple[int, int]:
    """Where in ``text`` a part of it begins and ends that was found in it, or in what it is without regard to case."""
    return (_unfolded(text, start), _unfolded(text, end - 1) + 1) if folded else (start, end)


def _unfolded(text: str, place: int) -> int:
    """Which character of ``text`` became the one at ``place`` of its folded form: some become several."""
    low, high = 0, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        size = len(text[low:middle].casefold())
        if place < size:
            high = middle
        else:
            low, place = middle, place - size
    return low
