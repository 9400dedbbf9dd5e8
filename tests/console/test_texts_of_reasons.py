"""The console has a text for every reason, problem and setting, and says the same in English as the command line."""

import json
import re
from pathlib import Path

from orth.coordinator.why import NextCode
from orth.domain.jobs import TriggerCause
from orth.domain.reasons import REASONS
from orth.sayings import SAYINGS
from orth.settings.describing import describe_settings
from orth.settings.surprises import SURPRISES

LOCALE = Path(__file__).parents[2] / "console/src/i18n/locales/en"
TEXTS = json.loads((LOCALE / "why.json").read_text())  # the console's own gate compares the other languages with these


def test_every_reason_is_there_word_for_word() -> None:
    assert TEXTS["reason"] == dict(REASONS)


def test_every_next_step_and_every_cause_is_there() -> None:
    assert {re.sub(r"_(one|other)$", "", key) for key in TEXTS["next"]} == set(NextCode)
    assert set(TEXTS["cause"]) == set(TriggerCause)


def test_every_setting_is_explained_word_for_word() -> None:
    """In English; the console's own gate wants the same keys of every language, and none of them empty."""
    texts = json.loads((LOCALE / "settingTexts.json").read_text())
    told = {f"{section}.{name}": text for section, names in texts.items() for name, text in names.items()}
    assert told == {one.key: one.explanation for one in describe_settings()}


def test_every_surprise_of_settings_is_there_word_for_word() -> None:
    texts = json.loads((LOCALE / "settings.json").read_text())["surprise"]
    assert texts == {code: re.sub(r"\{(\w+)\}", r"{{\1}}", said) for code, said in SURPRISES.items()}


def test_every_problem_with_a_code_is_there_word_for_word() -> None:
    texts = json.loads((LOCALE / "common.json").read_text())["problem"]
    said = {code: {"is": what, **({"do": step} if step else {})} for code, (what, step) in SAYINGS.items()}
    numbers = re.sub(r"\{(\w+):,\}", r"{{\1, number}}", json.dumps(said))
    assert texts == json.loads(re.sub(r"(?<!\{)\{(\w+)\}", r"{{\1}}", numbers))
