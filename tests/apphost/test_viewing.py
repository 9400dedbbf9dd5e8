import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.apphost.viewing import Do, Keyboard, View, Wish, step

NAMES = ["registry", "coordinator-1", "agent-1"]


def pressed(*keys: str, view: View = View(), names: list[str] = NAMES) -> tuple[View, list[Wish]]:  # noqa: B008
    wishes = []
    for key in keys:
        view, wish = step(view, key, names, lines=7)
        wishes += [wish] if wish else []
    return view, wishes


def test_arrows_choose_within_the_table() -> None:
    assert pressed("up")[0].chosen == 0
    assert pressed("down", "down")[0].chosen == 2
    assert pressed("down", "down", "down", "up")[0].chosen == 1


@pytest.mark.parametrize(
    ("key", "do"),
    [
        ("r", Do.RESTART), ("s", Do.STOP_OR_START), ("d", Do.DRAIN), ("K", Do.KILL), ("t", Do.TRIGGER), ("o", Do.OPEN),
        ("q", Do.QUIT),
    ],
)  # fmt: skip
def test_keys_wish_something_for_the_chosen_one(key: str, do: Do) -> None:
    assert pressed("down", key)[1] == [Wish(do, "coordinator-1")]


def test_lines_of_one_and_of_all() -> None:
    view, _ = pressed("down", "enter")
    assert view.only == "coordinator-1"
    assert pressed("a", view=view)[0].only is None
    assert pressed("escape", view=view)[0].only is None


def test_a_filter_is_typed_and_keys_are_letters_meanwhile() -> None:
    view, wishes = pressed("/", *"Krx", "backspace", "é")
    assert (view.filter, view.typing, wishes) == ("Kré", True, [])
    assert pressed("enter", "K", view=view)[1] == [Wish(Do.KILL, "registry")]
    assert pressed("escape", view=view)[0] == View()


def test_cleared_lines_stay_away() -> None:
    assert pressed("c")[0].cleared_at == 7


def test_no_processes_is_no_trouble() -> None:
    assert pressed("down", "enter", "q", names=[])[1] == [Wish(Do.QUIT, "")]


@given(st.lists(st.binary(max_size=12)))
def test_any_bytes_are_keys_or_nothing(chunks: list[bytes]) -> None:
    keyboard = Keyboard()
    for chunk in chunks:
        for key in keyboard.keys(chunk):
            assert len(key) == 1 or key in ("up", "down", "enter", "backspace", "escape", "redraw")


def test_keys_are_found_in_what_a_terminal_sends() -> None:
    keyboard = Keyboard()
    assert keyboard.keys(b"\x1b[A\x1bOBK\r\x7f") == ["up", "down", "K", "enter", "backspace"]
    assert keyboard.keys(b"\x1b[") == []
    assert keyboard.keys(b"Bq") == ["down", "q"], "the rest of a sequence came later"
    assert keyboard.keys(b"\x1b") == ["escape"]
    assert keyboard.keys("é".encode()[:1]) == []
    assert keyboard.keys("é".encode()[1:]) == ["é"]
    assert keyboard.keys(b"\x1b[1;5C\x0c") == ["redraw"], "unknown keys are nothing"
