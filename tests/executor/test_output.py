from hypothesis import given
from hypothesis import strategies as st

from orth.executor.output import LINE_LIMIT, Lines


def lines_of(*chunks: bytes) -> list[str]:
    taken: list[str] = []
    lines = Lines(taken.extend)
    for chunk in chunks:
        lines.feed(chunk)
    lines.finish()
    return taken


def test_lines_are_put_together_from_chunks() -> None:
    assert lines_of(b"on", b"e\ntw", b"o\n\nthree") == ["one", "two", "", "three"]


def test_a_character_cut_by_a_chunk_is_whole_again() -> None:
    assert lines_of("né".encode()[:2], "né".encode()[2:] + b"\n") == ["né"]


def test_invalid_bytes_are_replaced() -> None:
    assert lines_of(b"a\xff\xfeb\n") == ["a\ufffd\ufffdb"]


def test_of_a_progress_bar_the_last_state_is_kept() -> None:
    assert lines_of(b"10 %\r50 %\r100 %\r\ndone\r\n") == ["100 %", "done"]


def test_a_very_long_line_is_cut_and_says_so() -> None:
    (line,) = lines_of(*[b"x" * 65_536] * 160)
    assert line == "x" * LINE_LIMIT + f" … {160 * 65_536 - LINE_LIMIT} more bytes of this line are left out"


@given(st.text(alphabet=st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])), st.data())
def test_however_it_is_chunked_the_text_is_the_same(text: str, data: st.DataObject) -> None:
    raw = f"{text}\n{text}".encode()
    cut = data.draw(st.integers(0, len(raw)))
    assert lines_of(raw[:cut], raw[cut:]) == [text, text][: 2 if text else 1]
