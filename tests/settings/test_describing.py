import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from orth.settings import Address, as_text, describe_settings, show
from orth.settings.describing import settings_page
from orth.settings.names import FIELDS

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_in_the_documentation_is_the_one_the_code_writes() -> None:
    written = PAGE.read_text("utf-8")
    assert written == settings_page(), "rewrite it with: python -m orth.settings > docs/settings.md"


def test_the_command_writes_the_page() -> None:
    written = subprocess.run([sys.executable, "-m", "orth.settings"], capture_output=True, check=True, timeout=60)
    assert written.stdout.decode() == settings_page()


def test_every_setting_is_described_once() -> None:
    assert [description.key for description in describe_settings()] == list(FIELDS)
    page = settings_page()
    assert all(page.count(f"| `{key}`<br>") == 1 for key in FIELDS)


def test_a_description_says_key_type_default_and_meaning() -> None:
    described = {description.key: description for description in describe_settings()}
    assert described["cluster.lease"][:3] == ("cluster.lease", "duration", "30s")
    assert described["coordinator.listen"].default == "127.0.0.1:5080"
    assert described["security.access_token"].type == "secret"


@pytest.mark.parametrize(
    ("value", "shown", "text"),
    [
        (None, None, ""),
        (True, True, "true"),
        (8, 8, "8"),
        (timedelta(minutes=90), "1h30m", "1h30m"),
        (Address("::1", 80), "[::1]:80", "[::1]:80"),
        (Path("a/b"), "a/b", "a/b"),
        (SecretStr("hunter2"), "********", "********"),
        (("x", timedelta(seconds=1)), ["x", "1s"], "x, 1s"),
        ("mysql://u:hunter2@h/d", "mysql://u:********@h/d", "mysql://u:********@h/d"),
    ],
)
def test_values_are_shown_as_people_write_them(value: object, shown: object, text: str) -> None:
    assert show(value) == shown
    assert as_text(show(value)) == text


def test_a_value_no_setting_has_is_not_shown() -> None:
    with pytest.raises(TypeError):
        show(1.5)
