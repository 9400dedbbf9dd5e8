"""A prepared store is as good as a migrated one."""

from pathlib import Path

from orth.store.migrating import check_schema, schema_status
from orth.testing.stores import prepare_store


def test_each_is_a_store_of_its_own_with_the_whole_schema(tmp_path: Path) -> None:
    one, other = (f"sqlite:///{tmp_path}/{name}/orth.db" for name in ("one", "other"))
    prepare_store(one)
    prepare_store(other)
    for url in (one, other):
        check_schema(url)
        assert "up to date" in schema_status(url)
    assert (tmp_path / "one" / "orth.db").stat().st_ino != (tmp_path / "other" / "orth.db").stat().st_ino


def test_one_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/orth.db"
    prepare_store(url)
    before = (tmp_path / "orth.db").read_bytes()
    prepare_store(url)
    assert (tmp_path / "orth.db").read_bytes() == before
