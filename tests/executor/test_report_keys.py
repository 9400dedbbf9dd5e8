"""Report keys that outlive their process, for logs that are asked for again."""

from pathlib import Path

from orth.executor.report_keys import KeptKeys


def test_a_key_is_found_after_a_restart(tmp_path: Path) -> None:
    keys = KeptKeys(tmp_path)
    keys.keep(7, "a" * 64)
    keys.keep(8, None)
    again = KeptKeys(tmp_path)
    assert (again.find(7), again.find(8), again.find(9)) == ("a" * 64, None, None)
    assert (tmp_path / "report-keys").stat().st_mode & 0o077 == 0


def test_the_oldest_are_forgotten_and_the_file_does_not_grow(tmp_path: Path) -> None:
    keys = KeptKeys(tmp_path, most=10)
    for log_id in range(100):
        keys.keep(log_id, f"{log_id:064x}")
    assert len((tmp_path / "report-keys").read_text().splitlines()) <= 20
    again = KeptKeys(tmp_path, most=10)
    assert [log_id for log_id in range(100) if again.find(log_id)] == list(range(90, 100))
    assert again.find(99) == f"{99:064x}"


def test_a_torn_or_missing_file_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "report-keys").write_bytes(b"7 " + b"b" * 64 + b"\n\xff\xfe\nnot one\n8")
    keys = KeptKeys(tmp_path)
    assert (keys.find(7), keys.find(8)) == ("b" * 64, None)
    nowhere = KeptKeys(tmp_path / "report-keys" / "no folder")
    nowhere.keep(1, "c" * 64)
    assert nowhere.find(1) == "c" * 64
