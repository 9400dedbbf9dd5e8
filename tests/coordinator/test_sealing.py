"""Sealing: what opens, what does not, and who may start with which keys."""

import base64
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from orth.coordinator.sealing import KEY_FILE, Sealing, agree, is_sealed, key_id, sealing_of
from orth.errors import CannotStart, Unreadable
from orth.settings import Settings
from orth.store.database import open_database
from orth.store.migrating import upgrade

OLD, NEW = bytes(range(32)), bytes(range(100, 132))


def settings(master_key: str | None = None) -> Settings:
    key = None if master_key is None else SecretStr(master_key)
    return Settings.model_validate({"security": {"master_key": key}})


@given(plain=st.binary(max_size=200), context=st.text(max_size=50))
def test_what_is_sealed_opens_in_its_own_context_only(plain: bytes, context: str) -> None:
    sealing = Sealing(OLD)
    sealed = sealing.seal(plain, context)
    assert sealing.open(sealed, context) == plain
    with pytest.raises(Unreadable, match="changed or moved"):
        sealing.open(sealed, context + "x")


def test_two_seals_of_one_value_have_nothing_in_common() -> None:
    sealing = Sealing(OLD)
    first, second = sealing.seal(b"same", "c"), sealing.seal(b"same", "c")
    assert first != second
    assert is_sealed(first)
    assert not is_sealed("same")
    assert "same" not in first


def test_every_changed_character_is_noticed() -> None:
    sealing = Sealing(OLD)
    sealed = sealing.seal(b"8 bytes.", "c")
    for position in range(len(sealed)):
        changed = sealed[:position] + ("A" if sealed[position] != "A" else "B") + sealed[position + 1 :]
        with pytest.raises(Unreadable):
            sealing.open(changed, "c")


@pytest.mark.parametrize("text", ["", "orth1", "orth1:", "orth1:abc:", "orth1:abc:%%%", "orth2:a:b", "plain text"])
def test_what_was_never_sealed_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        Sealing(OLD).open(text, "c")


def test_the_first_key_seals_and_all_keys_open() -> None:
    before = Sealing(OLD).seal(b"v", "c")
    both = Sealing(NEW, OLD)
    assert both.open(before, "c") == b"v"
    assert both.is_stale(before)
    after = both.seal(b"v", "c")
    assert not both.is_stale(after)
    assert Sealing(NEW).open(after, "c") == b"v"
    with pytest.raises(Unreadable, match=f"sealed with the master key {key_id(OLD)}"):
        Sealing(NEW).open(before, "c")


def test_a_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    first = sealing_of(settings(), tmp_path)
    file = tmp_path / KEY_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sealing_of(settings(), tmp_path).newest == first.newest
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


@pytest.mark.parametrize(
    "written",
    [
        OLD.hex(),
        base64.b64encode(OLD).decode(),
        base64.urlsafe_b64encode(OLD).decode().rstrip("="),
        f"{OLD.hex()}\n",
    ],
)
def test_a_key_may_be_written_in_hex_or_base64(tmp_path: Path, written: str) -> None:
    assert sealing_of(settings(written), tmp_path).key_ids == (key_id(OLD),)
    assert list(tmp_path.iterdir()) == []


def test_nodes_with_the_same_access_token_have_the_same_key_and_keep_no_file(tmp_path: Path) -> None:
    def of(folder: str, **tokens: str) -> Sealing:
        (tmp_path / folder).mkdir(exist_ok=True)
        return sealing_of(Settings.model_validate({"security": tokens}), tmp_path / folder)

    one, other = of("a", access_token="the-token-of-all"), of("b", access_token="the-token-of-all")
    assert one.key_ids == other.key_ids
    assert list(tmp_path.glob("*/*")) == []
    assert of("a", access_token="quite-another-one").key_ids != one.key_ids
    later = of("a", access_token="quite-another-one", access_token_previous="the-token-of-all")
    assert later.open(one.seal(b"value", "context"), "context") == b"value"


def test_a_key_in_the_data_folder_still_opens_when_a_token_is_set(tmp_path: Path) -> None:
    before = sealing_of(settings(), tmp_path)
    after = sealing_of(Settings.model_validate({"security": {"access_token": "the-token-of-all"}}), tmp_path)
    assert after.newest != before.newest
    assert after.open(before.seal(b"value", "context"), "context") == b"value"


@pytest.mark.parametrize("between", [",", "\n", ", "])
def test_several_keys_are_listed_newest_first(tmp_path: Path, between: str) -> None:
    assert sealing_of(settings(f"{NEW.hex()}{between}{OLD.hex()}"), tmp_path).key_ids == (key_id(NEW), key_id(OLD))


@pytest.mark.parametrize("written", ["short", OLD.hex()[:-2], f"{OLD.hex()},nonsense", ", ,", "ü" * 64])
def test_what_is_no_key_refuses_the_start_without_showing_it(tmp_path: Path, written: str) -> None:
    with pytest.raises(CannotStart, match="is not a master key") as refused:
        sealing_of(settings(written), tmp_path)
    assert written not in str(refused.value)


async def test_a_node_with_another_key_refuses_to_start(store_url: str) -> None:
    upgrade(store_url)
    with open_database(store_url, size=2) as db:
        await agree(db, Sealing(OLD), 1)
        await agree(db, Sealing(NEW, OLD), 2)
        with pytest.raises(CannotStart, match=f"master key {key_id(OLD)}; this node has {key_id(NEW)}"):
            await agree(db, Sealing(NEW), 3)
