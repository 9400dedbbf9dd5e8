"""Whether a password or token is one of the first that anybody would try.

No measure of strength: long enough is judged elsewhere. What is found here is tried by every tool that guesses: one
character or one part again and again, keys side by side or one below the other, and nothing but the words that people
begin with.
"""

import re

_FEWEST_CHARACTERS = 5
_ROWS = (
    "01234567890123456789",
    "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiopasdfghjklzxcvbnm",
    "qwertzuiopasdfghjklyxcvbnm",
    "azertyuiopqsdfghjklmwxcvbn",
    "йцукенгшщзхъфывапролджэячсмитьбю",
)
_COLUMNS = (
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
    "qazwsxedcrfvtgbyhnujmikolp",
    "zaq1xsw2cde3vfr4bgt5nhy6mju7ki8lo9p0",
    "zaqxswcdevfrbgtnhymjukilop",
)
_ZIGZAGS = (
    "1q2w3e4r5t6y7u8i9o0p",
    "q1w2e3r4t5y6u7i8o9p0",
    "qawsedrftgyhujikolp",
    "aqswdefrgthyjukilop",
    "azsxdcfvgbhnjmkl",
    "zaxscdvfbgnhmjkl",
)
_WALKS = " ".join(one for walk in (*_ROWS, *_COLUMNS, *_ZIGZAGS) for one in (walk, walk[::-1]))
_SHORTEST_WALK = 3
_UNSHIFTED = str.maketrans("!@#$%^&*()", "1234567890")
_WORDS = frozenset(
    [
        "access",
        "admin",
        "administrator",
        "admins",
        "api",
        "app",
        "auth",
        "autumn",
        "azerty",
        "baseball",
        "basketball",
        "batman",
        "bearer",
        "bonjour",
        "change",
        "changeit",
        "changeme",
        "charlie",
        "company",
        "computer",
        "contraseña",
        "cookie",
        "coordinator",
        "cron",
        "database",
        "default",
        "demo",
        "dev",
        "develop",
        "developer",
        "development",
        "docker",
        "dragon",
        "dummy",
        "example",
        "executor",
        "executors",
        "fake",
        "flower",
        "football",
        "for",
        "freedom",
        "ginger",
        "google",
        "guest",
        "hallo",
        "hello",
        "here",
        "hunter",
        "iloveyou",
        "insecure",
        "insert",
        "internet",
        "jenkins",
        "job",
        "jobs",
        "jordan",
        "key",
        "killer",
        "kubernetes",
        "let",
        "letmein",
        "local",
        "localhost",
        "login",
        "lovely",
        "manager",
        "mariadb",
        "master",
        "me",
        "michael",
        "monkey",
        "motdepasse",
        "my",
        "mysql",
        "ninja",
        "operator",
        "orth",
        "pass",
        "passw",
        "passwd",
        "password",
        "passwords",
        "passwort",
        "pepper",
        "placeholder",
        "please",
        "pokemon",
        "postgres",
        "postgresql",
        "princess",
        "private",
        "prod",
        "production",
        "public",
        "redis",
        "replace",
        "replaceme",
        "root",
        "sample",
        "samsung",
        "scheduled",
        "scheduler",
        "secret",
        "secrets",
        "secure",
        "security",
        "server",
        "service",
        "sesame",
        "shadow",
        "soccer",
        "spring",
        "staging",
        "starwars",
        "summer",
        "sunshine",
        "super",
        "superman",
        "system",
        "task",
        "temp",
        "temporary",
        "test",
        "testing",
        "the",
        "this",
        "todo",
        "token",
        "tokens",
        "trustno",
        "user",
        "users",
        "welcome",
        "whatever",
        "winter",
        "worker",
        "xxl",
        "your",
        "пароль",
        "密码",
    ]
)
_LONGEST_PART = max(map(len, _WORDS))
"""Longer walks are several, one after the other."""
_FEW_DIGITS = 4
_LOOKALIKES = {"@": "a", "$": "s", "0": "o", "1": "i", "3": "e", "4": "a"}
_STANDS_FOR_A_LETTER = re.compile(r"[@$]|(?<=[a-z@$])[0134](?=[a-z@$])")


def is_guessable(secret: str) -> bool:
    """Whether nobody needs to know it to try it."""
    plain = secret.casefold()
    spelt = _STANDS_FOR_A_LETTER.sub(lambda found: _LOOKALIKES[found[0]], plain)
    typed = plain.translate(_UNSHIFTED)
    return len(set(plain)) < _FEWEST_CHARACTERS or _repeats(plain) or any(map(_is_usual, {plain, spelt, typed}))


def is_name(secret: str, name: str) -> bool:
    """Whether it is the name of whom it belongs to, once or more often, with some digits perhaps."""
    bare = re.sub(r"[\W_]", "", secret.casefold())
    own = re.sub(r"[\W_]", "", name.casefold())
    if not own or not bare.startswith(own):
        return False
    while bare.startswith(own):
        bare = bare.removeprefix(own)
    return not bare.strip("0123456789")


def _repeats(plain: str) -> bool:
    """Whether it is one part, twice or more often."""
    return plain in (plain + plain)[1:-1]


def _is_usual(plain: str) -> bool:
    """Whether there is nothing in it but well-known words, walks over the keys, and a few digits."""
    runs = re.findall(r"[^\W_]+", plain)
    some_are_more_than_few = any(not run.isdigit() or len(run) > _FEW_DIGITS for run in runs)
    return some_are_more_than_few and all(map(_is_joined, runs))


def _is_joined(run: str) -> bool:
    """Whether it is well-known words, walks over the keys, and a few digits, one after the other."""
    few = {found.span() for found in re.finditer(r"\d+", run) if len(found[0]) <= _FEW_DIGITS}
    reached = {0}
    for end in range(1, len(run) + 1):
        begins = (begin for begin in range(max(0, end - _LONGEST_PART), end) if begin in reached)
        if any((begin, end) in few or _is_known(run[begin:end]) for begin in begins):
            reached.add(end)
    return len(run) in reached


def _is_known(part: str) -> bool:
    return part in _WORDS or (len(part) >= _SHORTEST_WALK and part in _WALKS)
