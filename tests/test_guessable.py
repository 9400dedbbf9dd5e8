"""What everybody tries first is known as such, and what people and machines make is not."""

import secrets

import pytest

from orth.guessable import is_guessable, is_name


@pytest.mark.parametrize(
    "secret",
    [
        "adminadmin",
        "passwordpassword",
        "aaaaaaaaaaaa",
        "abababababab",
        "default_token",
        "default_token_default_token",
        "changeme-changeme",
        "Change_Me_Please",
        "P@ssw0rd",
        "Admin123456",
        "admin-2026",
        "xxl-job-secret-token",
        "correct-horse/correct-horse/",
        "1234567890",
        "0987654321",
        "QWERTYUIOP",
        "letmein!letmein!",
        "P@ssw0rd123",
        "admin123456789",
        "qwerty123456",
        "password12345678",
        "1234567890abcdef",
        "default_token1234567",
        "1qaz2wsx3edc",
        "!QAZ2wsx#EDC",
        "zaq12wsxcde3",
        "qazwsxedcrfv",
        "1q2w3e4r5t6y",
        "!Q@W#E$R%T^Y",
        "q1w2e3r4t5y6u7",
        "qweasdzxc123",
        "987654321012345",
        "!@#$%^&*()",
        "azertyuiop12",
        "йцукенгшщзхъ",
        "пароль123456",
        "executor-token-1234",
        "coordinator-token",
        "secret-token-for-executors",
        "your-token-here-1",
        "todo-change-this-1",
        "replace-me-please",
        "placeholder-token",
        "insecure-token-change-me",
        "football12345",
        "sunshine12345",
        "Summer2024!!!",
        "postgres12345",
        "",
    ],
)
def test_what_is_tried_first(secret: str) -> None:
    assert is_guessable(secret)


@pytest.mark.parametrize(
    "secret",
    [
        "correct horse battery staple",
        "a long password",
        "the-password-of-this-test",
        "tr0ub4dor&3xyz",
        "zażółć gęślą jaźń",
        "admin-f83kd02m",
        "8371920465",
        "2719-8034-5521",
        "4c1f0a9e77b2d3608e5a",
        "1qaz-f83kd02m",
        "executor-83719204",
        "密码是很长的一句话没有人知道",
    ],
)
def test_what_is_not(secret: str) -> None:
    assert not is_guessable(secret)


@pytest.mark.parametrize(
    "secret", ["ada.lovelace", "Ada_Lovelace", "adalovelace1", "ada.lovelace-1815", "adalovelaceAdaLovelace12"]
)
def test_a_name_is_no_secret(secret: str) -> None:
    assert is_name(secret, "ada.lovelace")


@pytest.mark.parametrize("secret", ["ada.lovelace likes sums", "1815", "", "lovelace.ada", "ada.lovelace.ada"])
def test_what_is_not_the_name(secret: str) -> None:
    assert not is_name(secret, "ada.lovelace")


def test_what_is_made_is_never_guessable() -> None:
    for _ in range(500):
        assert not is_guessable(secrets.token_urlsafe(12))
        assert not is_guessable(secrets.token_hex(16))
