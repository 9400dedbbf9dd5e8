"""Who runs in a folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orth.apphost.place import Place, Standing
from orth.errors import CannotStart, NotFound


def test_one_holds_a_folder(tmp_path: Path) -> None:
    place = Place(tmp_path / "new")
    assert not place.is_held
    with pytest.raises(NotFound, match="no running orth up"):
        place.need_held()
    with place.held() as ours:
        assert ours
        assert place.is_held
        place.need_held()
        with Place(tmp_path / "new").held() as second:
            assert not second
    assert not place.is_held


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from orth.apphost.place import Place\n"
        "with Place(Path(sys.argv[1])).held(): print('held', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert Place(tmp_path).is_held
        holder.kill()
        holder.wait(10)
    with Place(tmp_path).held() as ours:
        assert ours


def test_what_is_written_is_read_and_gone_with_the_holder(tmp_path: Path) -> None:
    place = Place(tmp_path)
    standing = Standing(os.getpid(), "2026-01-30T10:00:00.000Z", {"agent-1": 12})
    with place.held():
        assert place.read() is None
        place.write(standing)
        assert place.read() == standing
    assert place.read() is None
    (tmp_path / "up.json").write_text('{"pid": ')
    assert place.read() is None


def test_a_socket_works_in_a_folder_with_a_long_name(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)
    place = Place(folder)
    with place.held(), place.listening() as listening:
        assert (folder / "up.sock").stat().st_mode & 0o077 == 0, "for this user only"
        with place.connected(5) as client:
            server, _ = listening.accept()
            server.sendall(b"hello")
            server.close()
            assert client.recv(10) == b"hello"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotStart, match="cannot be written"), Place(tmp_path / "file" / "x").held():
        pass
