from pathlib import Path

import pytest

from orth.errors import Invalid
from orth.settings import Settings, load_settings


def test_the_origin_of_an_unknown_setting_is_an_error_with_a_guess() -> None:
    with pytest.raises(Invalid, match=r"no setting 'store\.ur'.* Did you mean store\.url\?"):
        Settings().origin("store.ur")


def test_warnings_are_what_was_noted_while_loading_and_what_the_check_found(tmp_path: Path) -> None:
    environ = {"OrchestratorUrl": "http://o:1", "ORTH_SECURITY__ACCESS_TOKEN": "short"}
    settings = load_settings(environ=environ, cwd=tmp_path)
    assert [str(warning).partition(" ")[0] for warning in settings.warnings] == [
        "OrchestratorUrl",
        "security.access_token",
    ]


def test_no_representation_of_settings_holds_a_secret(tmp_path: Path) -> None:
    environ = {
        "ORTH_SECURITY__ACCESS_TOKEN": "hunter2-hunter2-hunter2",
        "ORTH_SECURITY__ADMIN_PASSWORD": "hunter2",
        "ORTH_STORE__URL": "postgresql://u:hunter2@h/d",
        "ORTH_CHANNELS__URL": "redis://:hunter2@h/0",
    }
    settings = load_settings(environ=environ, cwd=tmp_path)
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in str(settings)
