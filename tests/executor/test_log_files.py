import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.executor import log_files
from orth.executor.log_files import (
    STEP,
    LatestFolder,
    LineIndex,
    index_path,
    indexed_lines,
    open_to_append,
    open_to_read,
    place_before,
)


def appending(path: Path) -> int:
    return open_to_append(str(path))[0]


def reading(path: Path) -> int:
    return open_to_read(str(path))


def test_a_folder_is_made_when_it_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "2025-06-15" / "7.log"
    os.close(appending(path))
    assert path.stat().st_size == 0
    assert path.parent.stat().st_mode & 0o007 == 0, "logs are nobody else's business"


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (tmp_path / "7.log").symlink_to(secret)
    for opening in (appending, reading):
        with pytest.raises(OSError, match="symbolic links"):
            opening(tmp_path / "7.log")
    assert secret.read_text() == "secret"


def test_a_linked_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "7.log").write_text("secret")
    (tmp_path / "day").symlink_to(tmp_path / "elsewhere")
    for opening in (appending, reading):
        with pytest.raises(NotADirectoryError):
            opening(tmp_path / "day" / "7.log")


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "7.log")
    with pytest.raises(OSError, match="not a regular file"):
        reading(tmp_path / "7.log")
    with pytest.raises(OSError, match="No such device"):
        appending(tmp_path / "7.log")
    reader = os.open(tmp_path / "7.log", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="not a regular file"):
        appending(tmp_path / "7.log")
    os.close(reader)


def test_a_device_is_refused() -> None:
    with pytest.raises(OSError, match="not a regular file"):
        reading(Path("/dev/zero"))


def written(path: Path, writes: list[int]) -> bytes:
    """Write chunks of so many lines each, with an index, and return all of it."""
    file = appending(path)
    index = LineIndex(str(path))
    number = 0
    for lines in writes:
        data = b"".join(b"%d\n" % (number + line) for line in range(1, lines + 1))
        number += lines
        os.write(file, data)
        index.note(data)
    os.close(file)
    return path.read_bytes()


@given(
    writes=st.lists(st.integers(0, 9), max_size=40), wanted=st.integers(1, 250), step=st.sampled_from([1, 2, 3, 7, 64])
)
def test_an_indexed_line_begins_where_the_index_says(
    tmp_path_factory: pytest.TempPathFactory, writes: list[int], wanted: int, step: int
) -> None:
    path = tmp_path_factory.mktemp("logs") / "7.log"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_files, "STEP", step)
        text = written(path, writes)
        file = reading(path)
        line, place = place_before(str(path), file, wanted)
        os.close(file)
        assert line <= wanted
        assert text[place:].partition(b"\n")[0] in (b"%d" % line, b"")
        assert text[:place].count(b"\n") == line - 1
        assert min(wanted, sum(writes) + 1) - line < step
        assert indexed_lines(str(path)) == sum(writes) // step * step


def test_a_short_log_has_no_index(tmp_path: Path) -> None:
    written(tmp_path / "7.log", [STEP - 1])
    assert os.listdir(tmp_path) == ["7.log"]
    assert indexed_lines(str(tmp_path / "7.log")) == 0


def test_lines_of_another_writer_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "7.log"
    own, stranger = appending(path), appending(path)
    index = LineIndex(str(path))
    os.write(stranger, b"not ours\n" * (STEP + 5))
    for _ in range(STEP):
        os.write(own, b"ours\n")
        index.note(b"ours\n")
    os.write(stranger, b"not ours\nhalf a line of ")
    os.write(own, b"ours\n" * STEP)
    index.note(b"ours\n" * STEP)
    assert indexed_lines(str(path)) == 3 * STEP
    file = reading(path)
    for number in (1, 2, 3):
        line, place = place_before(str(path), file, number * STEP + 1)
        assert line == number * STEP + 1 == path.read_bytes()[:place].count(b"\n") + 1
    for handle in (file, own, stranger):
        os.close(handle)


def test_an_endless_line_costs_its_entry_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads it counts it as several."""
    monkeypatch.setattr(log_files, "STEP", 2)
    monkeypatch.setattr(log_files, "LONGEST_LINE", 10)
    path = tmp_path / "7.log"
    path.write_bytes(b"1\n" + b"x" * 23 + b"\n5\n6\n7\n8\n")
    LineIndex(str(path)).note(b"8\n" * 2)
    assert indexed_lines(str(path)) == 8
    file = reading(path)
    assert place_before(str(path), file, 4) == (1, 0), "line 3 begins within"
    assert place_before(str(path), file, 5) == (5, 26)
    assert place_before(str(path), file, 8) == (7, 30)
    os.close(file)


@pytest.mark.parametrize("damage", [b"\xff" * 8, b"\0" * 7 + b"\1", b"\0" * 8, b"\0\0\0"])
def test_a_damaged_index_is_not_believed(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "7.log"
    written(path, [STEP + 10])
    Path(index_path(str(path))).write_bytes(damage)
    file = reading(path)
    assert place_before(str(path), file, STEP + 5) == (1, 0)
    LineIndex(str(path)).note(b"another\n" * STEP)
    assert place_before(str(path), file, STEP + 5)[0] == STEP + 1, "whoever counts again mends it"
    os.close(file)


def test_an_index_that_cannot_be_written_only_ends(tmp_path: Path) -> None:
    path = tmp_path / "7.log"
    Path(index_path(str(path))).mkdir()
    assert len(written(path, [STEP, STEP])) > 2 * STEP
    assert indexed_lines(str(path)) == 0


def test_opening_many_at_once_makes_the_folder_once(tmp_path: Path) -> None:
    handles: list[int] = []
    start = threading.Barrier(8)

    def open_one(number: int) -> None:
        start.wait()
        handles.append(appending(tmp_path / "day" / f"{number}.log"))

    threads = [threading.Thread(target=open_one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(handles) == 8
    for handle in handles:
        os.close(handle)


def test_the_latest_folder_makes_files_in_every_folder_and_keeps_one_open(tmp_path: Path) -> None:
    folder = LatestFolder()
    before = len(os.listdir("/proc/self/fd"))
    for number in range(20):
        path = tmp_path / f"day-{number % 3}" / f"{number}.log"
        file, size = folder.create(str(path))
        assert (os.write(file, b"text"), size) == (4, 0)
        os.close(file)
        assert path.read_text() == "text"
    assert len(os.listdir("/proc/self/fd")) == before + 1
    folder.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_latest_folder_may_be_removed_and_made_again(tmp_path: Path) -> None:
    folder = LatestFolder()
    for number in range(3):
        file, _ = folder.create(str(tmp_path / "day" / f"{number}.log"))
        os.close(file)
        (tmp_path / "day" / f"{number}.log").unlink()
        (tmp_path / "day").rmdir()
    file, _ = folder.create(str(tmp_path / "day" / "9.log"))
    os.close(file)
    assert os.listdir(tmp_path / "day") == ["9.log"]
    folder.close()


def test_the_latest_folder_appends_to_what_is_there_and_follows_no_link(tmp_path: Path) -> None:
    folder = LatestFolder()
    (tmp_path / "7.log").write_text("12345")
    file, size = folder.create(str(tmp_path / "7.log"))
    os.close(file)
    assert size == 5
    (tmp_path / "8.log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        folder.create(str(tmp_path / "8.log"))
    assert not (tmp_path / "elsewhere").exists()
    folder.close()
