import resource
from pathlib import Path

import pytest

from orth.doctor import State
from orth.doctor.machine import (
    data_folders,
    judge_open_files,
    judge_space,
    judge_zones,
    look_at_disk,
    look_at_open_files,
    look_at_time_zones,
    zone_edition,
)
from tests.doctor.places import case_of, only

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("soft", "state"),
    [
        (100, State.BAD),
        (1024, State.WARN),
        (19_999, State.WARN),
        (20_000, State.OK),
        (resource.RLIM_INFINITY, State.OK),
    ],
)
def test_open_files_are_enough_for_the_connections_that_are_set(soft: int, state: State) -> None:
    assert judge_open_files(soft, 1_048_576, 10_000).state is state


def test_this_machine_has_a_verdict_on_open_files_and_zones() -> None:
    (files,) = look_at_open_files(case_of(), "")
    assert "files" in files.what
    (zones,) = look_at_time_zones(case_of(), "")
    assert zones.state is not State.BAD


@pytest.mark.parametrize(("free", "state"), [(199 * MIB, State.BAD), (900 * MIB, State.WARN), (1024 * MIB, State.OK)])
def test_room_on_the_disk(free: int, state: State) -> None:
    assert judge_space("/data", free).state is state


def test_folders_are_looked_at_and_not_made(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    case = case_of({"coordinator": {"data_dir": str(folder)}, "executor": {"data_dir": str(folder)}})
    assert data_folders(case) == [str(folder)]
    assert look_at_disk(case, str(folder))[-1].what.startswith(f"{folder}: ")
    assert not folder.parent.exists()


def test_a_file_in_the_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    verdict = only(look_at_disk(case_of(), str(tmp_path / "a" / "b")), State.BAD)
    assert "is not a folder" in verdict.what


@pytest.mark.parametrize(
    ("count", "edition", "state"),
    [
        (3, "2026a", State.BAD),
        (600, "2026a", State.OK),
        (600, "2025b", State.OK),
        (600, "2024a", State.WARN),
        (600, "", State.OK),
    ],
)
def test_time_zones(count: int, edition: str, state: State) -> None:
    assert judge_zones("Europe/Paris", count, edition, 2026).state is state


def test_the_edition_is_that_of_the_data_in_use(tmp_path: Path) -> None:
    assert zone_edition((str(tmp_path),))[:2] == "20", "the package's, where the system has none"
    (tmp_path / "UTC").touch()
    assert zone_edition((str(tmp_path),)) == ""
    (tmp_path / "tzdata.zi").write_text("# version 2023c\n# more\n")
    assert zone_edition((str(tmp_path),)) == "2023c"
