"""``orth exec log`` against a served coordinator and an executor whose log the test writes."""

import threading

import pytest

from orth.cli.exec_log import visible
from orth.errors import ApiProblem
from tests.cli.conftest import Run
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.live import Site
from tests.coordinator.http.scrolls import Scroll, end, written


class Orth(SignedIn):
    command = "exec"

    def error(self, *arguments: str) -> BaseException | None:
        return self._run("exec", *arguments, **self.environ).exception


@pytest.fixture
def orth(run: Run, served: Site) -> Orth:
    served.reset()
    return Orth(run, served)


def test_a_log_from_its_beginning_its_end_or_a_line(orth: Orth) -> None:
    texts = [f"line {number}" for number in range(1, 1501)]
    with written(orth.site, Scroll(*texts)) as one:
        assert orth("log", str(one)).splitlines() == texts
        assert orth("log", str(one), "--tail", "2").splitlines() == texts[-2:]
        assert orth("log", str(one), "--from", "1499").splitlines() == texts[-2:]


def test_lines_that_say_something(orth: Orth) -> None:
    with written(orth.site, Scroll("one", "two", "Twelve")) as one:
        assert orth("log", str(one), "--search", "tw").splitlines() == ["2: two"]
        assert orth("log", str(one), "--search", "^t.*", "--regex", "-i").splitlines() == ["2: two", "3: Twelve"]
        assert orth.error("log", str(one), "--search", "x", "-f") is not None


def test_a_log_is_followed_to_its_end(orth: Orth) -> None:
    scroll = Scroll("one")
    with written(orth.site, scroll) as one:
        shown: list[str] = []
        following = threading.Thread(target=lambda: shown.append(orth("log", str(one), "-f")))
        following.start()
        scroll.add("two")
        end(orth.site, one)
        scroll.finish()
        for _ in range(2000):
            following.join(0.01)
            orth.site.clock.move(0.05)
            if not following.is_alive():
                break
        assert shown[0].splitlines() == ["one", "two"]


def test_what_does_not_exist_is_said(orth: Orth) -> None:
    assert isinstance(orth.error("log", "4711"), ApiProblem)
    assert isinstance(orth.error("log", "4711", "-f"), ApiProblem)


def test_a_terminal_is_given_nothing_to_obey(orth: Orth) -> None:
    assert visible("\x1b[31mred\x07 \x9b \u202e\ttab ü") == "\\x1b[31mred\\x07 \\x9b \\u202e\ttab ü"
    with written(orth.site, Scroll("\x1b[31mred")) as one:
        assert orth("log", str(one)) == "\\x1b[31mred\n", "behind a pipe there may be one"
        assert orth("log", str(one), "--raw") == "\x1b[31mred\n"
