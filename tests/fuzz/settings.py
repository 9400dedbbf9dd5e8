"""The settings of all roles: any file and any environment."""

import tempfile
from pathlib import Path

from hypothesis import strategies as st

from orth.errors import BadSettings
from orth.settings import load_settings
from orth.settings.names import FIELDS, SEED_NAMES, variable_of
from tests.fuzz.mutations import mutated
from tests.fuzz.target import MEMORY, Target

_VALUES = [
    "true", "0", "-1", "1", "2147483648", "1e400", "nan", "inf", '"30s"', '"5m"', '"1.5h"', '"0s"', '"999999999d"',
    '"127.0.0.1:80"', '"0.0.0.0:80"', '"[::1]:65536"', '"http://a:1,http://b"', '"redis://:p@h:1/0"', '"10MiB"', '""',
    '"\\u0000"', '"/etc/passwd"', '"x y"', "[]", '["shell", "ruby"]', "{a = 1}", '{zone = "eu"}', "1979-05-27",
    "9999-12-31T23:59:59+23:59", "'''\n'''", "[[1], [2]]", "9" * 5_000, "0x" + "f" * 400,
]  # fmt: skip
_KEYS = sorted(FIELDS)
_FILES = [
    b'[store]\nurl = "sqlite:///a.db"\n\n[coordinator]\nlisten = "127.0.0.1:5080"\nlost_after = "10m"\n',
    b'[executor]\nscripts = ["shell"]\nlabels = { zone = "eu" }\n\n[security]\naccess_token = "0123456789abcdef"\n',
    b'[DnsConfiguration.Registry]\nUrl = "http://127.0.0.1:1"\n[cluster]\nlease = "30s" # a remark\n',
    b'executor.app_name = "a"\n"cluster"."lease" = "1h"\n[logs]\n',
    b"a = " + b"[" * 3_000,
    b"a = " + b"{b = " * 3_000,
    b"[" + b"a." * 3_000 + b"b]\n",
]


def _line(key: str, value: str) -> str:
    section, _, name = key.partition(".")
    return f"{section}.{name} = {value}"


_lines = st.lists(st.builds(_line, st.sampled_from(_KEYS), st.sampled_from(_VALUES)), max_size=4)
_files = st.one_of(mutated(_FILES), _lines.map(lambda lines: "\n".join(lines).encode()))
_variables = st.one_of(
    st.sampled_from(_KEYS).map(variable_of),
    st.sampled_from(sorted(SEED_NAMES)).map(lambda name: name.replace(".", "__")),
    st.text(max_size=12).map(lambda name: f"ORTH_{name}__X"),
)
_plain = st.one_of(st.sampled_from(_VALUES).map(lambda value: value.strip('"')), st.text(max_size=40))
_environments = st.dictionaries(_variables, _plain, max_size=4)


def _load(given: tuple[bytes, dict[str, str]]) -> None:
    written, environ = given
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        (Path(folder) / "orth.toml").write_bytes(written)
        load_settings(environ=environ, cwd=Path(folder))


TARGETS = [
    Target(
        "settings files and environments",
        st.tuples(_files, _environments),
        _load,
        (BadSettings,),
        bound=0.5,
        examples=150,
    ),
]
