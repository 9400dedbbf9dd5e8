from pathlib import Path

from tests.cli.running import orth


def test_a_database_is_upgraded_and_its_status_told(tmp_path: Path) -> None:
    upgraded = orth("db", "upgrade", cwd=tmp_path)
    after = orth("db", "status", cwd=tmp_path)
    assert [asked.returncode for asked in (upgraded, after)] == [0, 0], (upgraded, after)
    assert (tmp_path / ".orth" / "orth.db").is_file()
    assert all(asked.stdout.strip() for asked in (upgraded, after))


def test_a_database_file_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    file = tmp_path / "typo" / "x.db"
    for command in (("db", "status"), ("db", "reseal"), ("audit", "verify")):
        asked = orth(*command, "--store", f"sqlite:///{file}", cwd=tmp_path)
        assert asked.returncode == 1, asked
        assert asked.stderr.startswith(f"orth: There is no database file {file}. ")
        assert "orth db upgrade" in asked.stderr
        assert list(tmp_path.iterdir()) == [], command


def test_the_database_can_be_named(tmp_path: Path) -> None:
    assert orth("db", "upgrade", "--data-dir", "d", cwd=tmp_path).returncode == 0
    assert orth("db", "upgrade", "--store", "sqlite:///other.db", cwd=tmp_path).returncode == 0
    assert (tmp_path / "d" / "orth.db").is_file()
    assert (tmp_path / "other.db").is_file()
    assert not (tmp_path / ".orth").exists()


def test_a_wrong_database_address_is_told_in_one_line(tmp_path: Path) -> None:
    asked = orth("db", "status", "--store", "oracle://db", cwd=tmp_path)
    assert asked.returncode == 2
    assert asked.stderr.startswith("orth: store.url = 'oracle://db' (option --store): should begin with sqlite://")
    assert len(asked.stderr.splitlines()) == 1
