"""Settings that change while the process runs."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from orth.events import Events
from orth.lifecycle.facts import SettingsNeedRestart, SettingsRefused, SettingsReloaded
from orth.lifecycle.reloading import LOOK_EVERY, RELOADED, Reloading
from orth.settings import Settings, load_settings
from orth.settings.names import FIELDS
from orth.testing import ManualClock, Recorder

FIRST = '[registry]\nurl = "http://10.0.0.1:5060"\n'
SECOND = '[registry]\nurl = "http://10.0.0.2:5060"\n'


class Rig:
    def __init__(self, folder: Path, text: str | None = FIRST, environ: dict[str, str] | None = None) -> None:
        self.file = folder / "orth.toml"
        if text is not None:
            self.file.write_text(text)
        self.taken: list[Settings] = []
        self.recorder = Recorder()
        settings = load_settings(environ=environ or {}, cwd=folder)
        self.reloading = Reloading(settings, self.taken.append, ManualClock(), Events(self.recorder))

    async def look(self, times: int = 2) -> None:
        for _ in range(times):
            assert await self.reloading.turn() == LOOK_EVERY

    def urls(self) -> Sequence[str | None]:
        return [settings.registry.url for settings in self.taken]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def test_a_changed_file_is_taken_over_once_it_stands_still(rig: Rig) -> None:
    await rig.look(3)
    assert rig.recorder.heard == []
    rig.file.write_text(SECOND)
    await rig.look(1)
    assert rig.taken == [], "somebody may still be writing"
    await rig.look(1)
    assert rig.urls() == ["http://10.0.0.2:5060"]
    await rig.look(3)
    (told,) = rig.recorder.all(SettingsReloaded)
    assert str(told) == f"settings read again from {rig.file}: registry.url"
    assert rig.recorder.all(SettingsNeedRestart) == []


async def test_a_file_put_in_place_with_the_same_time_and_size_is_noticed(rig: Rig) -> None:
    before = rig.file.stat()
    other = rig.file.with_name("new.toml")
    other.write_text(SECOND)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(rig.file)
    await rig.look()
    assert rig.urls() == ["http://10.0.0.2:5060"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[registry\n", "is not TOML"),
        ('[registry]\nurl = "nonsense"\n', "registry.url"),
        ('[registry]\nulr = "http://10.0.0.2:5060"\n', "did you mean registry.url"),
        ('[registry]\nheartbeat = "80s"\n', "registry.dead_after"),
    ],
)
async def test_a_bad_file_is_refused_with_its_problem_and_the_old_values_stay(
    rig: Rig, text: str, problem: str
) -> None:
    rig.file.write_text(text)
    await rig.look(5)
    assert rig.taken == []
    (told,) = rig.recorder.all(SettingsRefused)
    assert problem in str(told)
    assert str(told).startswith(f"{rig.file} was not taken over, the settings stay as they were: ")
    rig.file.write_text(SECOND)
    await rig.look()
    assert rig.urls() == ["http://10.0.0.2:5060"], "and a mended one counts"


async def test_a_file_that_is_gone_is_refused_and_one_that_is_back_counts(rig: Rig) -> None:
    rig.file.unlink()
    await rig.look(4)
    assert [event.problems for event in rig.recorder.all(SettingsRefused)] == ["the file is gone"]
    rig.file.write_text(SECOND)
    await rig.look()
    assert rig.urls() == ["http://10.0.0.2:5060"]


async def test_what_needs_a_restart_is_named_and_not_passed_on(rig: Rig) -> None:
    rig.file.write_text(FIRST + 'heartbeat = "20s"\n[coordinator]\nlisten = "127.0.0.1:7777"\n')
    await rig.look()
    assert rig.taken == []
    (told,) = rig.recorder.all(SettingsNeedRestart)
    assert str(told).endswith("taken over at the next start only: registry.heartbeat, coordinator.listen")


async def test_asked_for_it_is_read_at_once(rig: Rig) -> None:
    rig.file.write_text(SECOND)
    rig.reloading.ask()
    await rig.look(1)
    assert rig.urls() == ["http://10.0.0.2:5060"]
    rig.reloading.ask()
    await rig.look(1)
    assert len(rig.taken) == 1
    assert len(rig.recorder.all(SettingsReloaded)) == 2, "whoever asks gets an answer"


async def test_the_environment_still_wins_over_the_file(tmp_path: Path) -> None:
    rig = Rig(tmp_path, environ={"ORTH_REGISTRY__URL": "http://10.0.0.9:5060"})
    rig.file.write_text(SECOND)
    await rig.look()
    assert rig.taken == []


async def test_without_a_file_there_is_nothing_to_watch_until_somebody_asks(tmp_path: Path) -> None:
    rig = Rig(tmp_path, text=None)
    rig.file.write_text(SECOND)
    await rig.look(3)
    assert rig.taken == []
    rig.reloading.ask()
    await rig.look(1)
    assert rig.urls() == ["http://10.0.0.2:5060"]


def test_the_page_lists_what_is_taken_over() -> None:
    assert set(RELOADED) <= FIELDS.keys()
    page = (Path(__file__).parents[2] / "docs/registering.md").read_text()
    assert all(f"`{key}`" in page for key in RELOADED)
