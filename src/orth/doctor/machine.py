"""This machine: open files, disk, time zones."""

import os
import resource
import shutil
import zoneinfo
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from orth.doctor.case import Case
from orth.doctor.verdicts import Verdict, bad, ok, warn

_MIB = 1024 * 1024
_GIB = 1024 * _MIB
_FULL = 200 * _MIB
_NEARLY_FULL = _GIB
_FEW_FILES = 256
_MANY_ZONES = 400
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs")
_RAISE = "Raise it: ulimit -n in a shell, LimitNOFILE= in a systemd unit, --ulimit nofile in a container."


def look_at_open_files(case: Case, _subject: str) -> list[Verdict]:
    """Half of the descriptors are for connections (``orth.connections``)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return [judge_open_files(soft, hard, case.settings.coordinator.connections)]


def judge_open_files(soft: int, hard: int, wanted: int) -> Verdict:
    if soft == resource.RLIM_INFINITY:
        return ok("A process may open any number of files.")
    most = "without end" if hard == resource.RLIM_INFINITY else f"up to {hard}"
    if soft < _FEW_FILES:
        return bad(f"A process started here may open {soft} files only.", _RAISE)
    if soft // 2 < wanted:
        said = f"A process started here may open {soft} files, so a coordinator holds {soft // 2} connections"
        return warn(f"{said}, not the {wanted} of coordinator.connections; it can be raised {most}.", _RAISE)
    return ok(f"A process started here may open {soft} files.")


def data_folders(case: Case) -> list[str]:
    settings = case.settings
    named = [settings.coordinator.data_dir, settings.executor.data_dir]
    named += [settings.logs.dir] if settings.logs.dir else []
    return list(dict.fromkeys(str(Path(one).absolute()) for one in named))


def look_at_disk(case: Case, folder: str) -> list[Verdict]:
    """A folder that is not there yet is made in the nearest one that is."""
    there = next((one for one in (Path(folder), *Path(folder).parents) if one.exists()), Path("/"))
    if not there.is_dir():
        return [bad(f"{folder}: {there} is not a folder.", "Choose another with --data-dir.")]
    if not os.access(there, os.W_OK | os.X_OK):
        return [bad(f"{folder}: {there} cannot be written by this user.", "Choose another with --data-dir, or chown.")]
    free = shutil.disk_usage(there).free
    return [*_judge_kind(case, folder, there), judge_space(folder, free)]


def judge_space(folder: str, free: int) -> Verdict:
    said = f"{folder}: {_size(free)} are free"
    if free < _FULL:
        return bad(f"{said}; results and logs soon have no place.", "Make room; logs.retention may keep less.")
    if free < _NEARLY_FULL:
        return warn(f"{said}.", "Make room; logs.retention may keep less.")
    return ok(f"{said}.")


def _judge_kind(case: Case, folder: str, there: Path) -> Iterator[Verdict]:
    kind = _file_system(there)
    holds_store = case.settings.store_url.startswith("sqlite") and case.settings.store.url is None
    if kind in _NETWORK and holds_store and folder == str(Path(case.settings.coordinator.data_dir).absolute()):
        yield bad(
            f"{folder}: the SQLite file is on {kind}, which does not lock as SQLite needs it.",
            "Put the data directory on a local disk, or use PostgreSQL or MariaDB.",
        )


def _file_system(there: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The kind of file system a folder is on, as the kernel calls it."""
    try:
        lines = [line.split() for line in mounts.read_text().splitlines()]
    except OSError:
        return ""
    real = there.resolve()
    around = [(len(line[1]), line[2]) for line in lines if len(line) > 2 and real.is_relative_to(line[1])]
    return max(around, default=(0, ""))[1]


def _size(count: int) -> str:
    return f"{count / _GIB:.1f} GiB" if count >= _GIB else f"{count // _MIB} MiB"


def look_at_time_zones(case: Case, _subject: str) -> list[Verdict]:
    name = case.settings.coordinator.default_timezone
    return [judge_zones(name, len(zoneinfo.available_timezones()), zone_edition(), _year(case.clock.now()))]


def judge_zones(default: str, count: int, edition: str, year: int) -> Verdict:
    """``edition`` is the year of the data and a letter, such as 2025b, or empty."""
    if count < _MANY_ZONES:
        return bad(f"Only {count} time zones are known here.", "Run: pip install tzdata")
    said = f"{count} time zones are known, in the edition {edition or 'unknown'}; jobs that name none use {default}"
    if edition[:4].isdigit() and int(edition[:4]) < year - 1:
        return warn(
            f"{said}. Rules may have changed since.", "Run: pip install --upgrade tzdata; or update the system."
        )
    return ok(f"{said}.")


def zone_edition(folders: tuple[str, ...] = zoneinfo.TZPATH) -> str:
    """The edition of the data that is used: the system's if it has any, else the package's."""
    for folder in map(Path, folders):
        if not (folder / "UTC").is_file():
            continue
        for name in ("+VERSION", "tzdata.zi"):
            try:
                with (folder / name).open(encoding="utf-8") as file:
                    return file.readline().replace("# version", "").strip()
            except (OSError, UnicodeDecodeError):
                continue
        return ""
    return _package_edition()


def _package_edition() -> str:
    try:
        return version("tzdata")
    except PackageNotFoundError:
        return ""


def _year(now: int) -> int:
    return 1970 + int(now / 1000 / 31_556_952)
