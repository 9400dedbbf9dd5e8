"""What a text is looked for by: literally, or by a regular expression.

A regular expression of a stranger may take longer than the universe has, and in this process it would stop everything
else meanwhile. So it is carried out in another process, with a limit for each page; past that the process is ended and
the expression refused.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from orth.errors import Invalid, Unavailable

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
        found = []
        for index, text in enumerate(texts):
            start = (text.casefold() if ignore_case else text).find(sought)
            if start >= 0:
                found.append((index, start, start + len(wanted)))
        return found

    async def matching(texts: Sequence[str]) -> list[Fit]:
        return await asyncio.to_thread(fits, texts)

    yield matching


@asynccontextmanager
async def expression(wanted: str, *, ignore_case: bool, within: float = PAGE_WITHIN) -> AsyncIterator[Matching]:
    """Texts in which the regular expression ``wanted`` finds something."""
    try:
        re.compile(wanted)
    except (re.error, RecursionError, OverflowError) as error:
        raise Invalid(f"This is not a regular expression: {error}.", field="q") from None
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
    talk = _Talk(process, within)
    try:
        await talk.say({"expression": wanted, "ignore_case": ignore_case})
        yield talk.matching
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


class _Talk:
    """Questions to the process, and its answers."""

    def __init__(self, process: asyncio.subprocess.Process, within: float) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._asking, self._answers = process.stdin, process.stdout
        self._within = within

    async def say(self, message: object) -> None:
        with suppress(ConnectionError):  # it has ended; the answer that does not come says so
            self._asking.write(json.dumps(message).encode() + b"\n")
            await self._asking.drain()

    async def matching(self, texts: Sequence[str]) -> list[Fit]:
        try:
            async with asyncio.timeout(self._within):
                await self.say(list(texts))
                answer = await self._answers.readline()
        except TimeoutError:
            raise Invalid(
                f"The regular expression takes longer than {self._within:g} s for a page of this log.",
                hint="Avoid repetitions inside repetitions, or search for a plain text.",
                field="q",
            ) from None
        except ValueError:
            answer = b""  # longer than it can be
        if not answer.endswith(b"\n"):
            raise Unavailable("The search ended unexpectedly.", hint="A simpler regular expression may do.")
        return [(index, start, end) for index, start, end in json.loads(answer)]
