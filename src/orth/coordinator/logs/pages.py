"""Lines of a log with their numbers. The first line of a log is 1."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Lines:
    """Consecutive lines from ``first`` on; the next page begins after ``last``. Without any, that is ``first - 1``."""

    first: int
    last: int
    texts: Sequence[str] = ()

    @property
    def content(self) -> str:
        return "\n".join(self.texts)

    def numbered(self) -> Iterator[tuple[int, str]]:
        return enumerate(self.texts, self.first)

    def beginning(self, count: int) -> "Lines":
        """The first ``count`` of them."""
        if len(self.texts) <= count:
            return self
        return replace(self, last=self.first + count - 1, texts=self.texts[:count])

    def since(self, line: int) -> "Lines":
        """Those from ``line`` on."""
        if line <= self.first:
            return self
        return Lines(line, max(self.last, line - 1), self.texts[line - self.first :])


def gap_note(first: int, last: int, what: str = "did not arrive here") -> str:
    """What stands in a log in the place of lines that it lacks."""
    which = f"Line {first}" if first == last else f"Lines {first} to {last}"
    return f"({which} {what}.)"


LONG = "were left out, because the log is long"

_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""All that anybody takes for the end of a line."""


def fits(first: int, last: int, content: str) -> bool:
    """Whether a text can be the lines ``first`` to ``last``, whichever line breaks were counted."""
    return last - first <= sum(map(content.count, _BREAKS))


def no_lines(first: int) -> Lines:
    return Lines(first, first - 1)


def lines_of(first: int, last: int, content: str) -> Lines:
    """The lines ``first`` to ``last``, as somebody counted them, from their text.

    Executors of other makes may end the text with a line break, and may take other characters for line breaks than
    we do. Their numbers count: what is too much belongs to the last line, and what is missing is not made up.
    """
    if last < first:
        return no_lines(first)
    count = last - first + 1
    texts = content.split("\n")
    if len(texts) == count + 1 and not texts[-1]:
        texts.pop()
    if len(texts) > count:
        texts[count - 1 :] = ["\n".join(texts[count - 1 :])]
    return Lines(first, last, texts)
