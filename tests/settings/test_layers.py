from pathlib import Path

import pytest

from orth.errors import BadSettings
from orth.settings.layers import find_file, read_environment, read_file, read_options


def test_the_file_asked_for_comes_before_the_variable_and_the_usual_name(tmp_path: Path) -> None:
    (tmp_path / "orth.toml").touch()
    environ = {"ORTH_CONFIG": "b.toml"}
    assert find_file(Path("a.toml"), environ, tmp_path) == tmp_path / "a.toml"
    assert find_file(None, environ, tmp_path) == tmp_path / "b.toml"
    assert find_file(None, {"ORTH_CONFIG": ""}, tmp_path) == tmp_path / "orth.toml"
    assert find_file(None, {}, tmp_path / "elsewhere") is None


def test_a_file_is_told_by_its_name_below_the_working_directory_and_by_its_path_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "orth.toml"
    path.write_text('[store]\nurl = "sqlite:///x"\n')
    assert [given.origin for given in read_file(path, tmp_path)] == ["orth.toml:2"]
    assert [given.origin for given in read_file(path, tmp_path / "sub")] == [f"{path}:2"]


def test_lines_are_counted_the_same_with_windows_endings_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "orth.toml"
    path.write_bytes(b'\xef\xbb\xbf[store]\r\n\r\nurl = "sqlite:///x"\r\n')
    assert [given.origin for given in read_file(path, tmp_path)] == ["orth.toml:3"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[store\n", "is not TOML"),
        (b"a = 1\na = 2\n", "is not TOML"),
        (b"\xff\xfe", "is not TOML"),
        (b"a = " + b"9" * 5_000, "is not TOML"),
        (b"a = " + b"[" * 5_000, "is nested too deeply"),
    ],
)
def test_a_file_that_is_not_toml_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "orth.toml"
    path.write_bytes(content)
    with pytest.raises(BadSettings, match=f"the settings file orth.toml {says}"):
        read_file(path, tmp_path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"missing\.toml cannot be read: No such file"):
        read_file(tmp_path / "missing.toml", tmp_path)


def test_variables_that_are_no_settings_are_left_alone() -> None:
    environ = {"PATH": "/bin", "ORTH_CONFIG": "x", "ORTH_LOG_LEVEL": "debug", "ORTH_JOB_ID": "7", "OTHER__THING": "x"}
    assert read_environment(environ) == []


def test_an_empty_variable_says_nothing() -> None:
    (given,) = read_environment({"ORTH_STORE__URL": ""})
    assert (given.name, given.value) == ("store.url", None)


def test_an_option_is_told_by_its_flag_or_else_by_its_key() -> None:
    origins = [given.origin for given in read_options({"store.url": "x", "cluster.lease": "1s", "no.such": 1})]
    assert origins == ["option --store", "option cluster.lease", "option no.such"]
