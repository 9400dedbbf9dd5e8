"""Secrets of an execution: where it finds them, and that what it writes does not show them."""

import json
import logging
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orth import helper
from orth.executor.context import JobContext, JobFailed
from orth.executor.facts import ScriptsAsRoot
from orth.executor.handlers import Handlers
from orth.executor.masking import HIDDEN, Mask
from orth.executor.output import LINE_LIMIT, Lines
from orth.executor.unfinished import Unfinished
from orth.testing import run_job
from orth.wire.messages import RunRequest
from tests.executor.bench import Rig
from tests.executor.conftest import MakeRig
from tests.executor.isolated_jobs import app as isolated_app

CANARY = "s3cret-canary/ß"
SECRETS = {"DB_PASSWORD": CANARY, "PEM": "-----BEGIN KEY-----\nMIIBVgIBADANBg\nkqhkiG9w0BAQ\n-----END KEY-----\n"}
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="*\r\n"), min_size=4, max_size=30)


@pytest.fixture
def isolated(tmp_path: Path) -> Iterator[Rig]:
    with ExitStack() as stack:
        made = Rig(isolated_app, tmp_path / "executor", warm_workers=1)
        stack.callback(made.runtime.close)
        yield made


def files_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def assert_never_told(ran: Rig, log_id: int) -> None:
    text = ran.text(log_id)
    item = ran.waiting()[log_id]
    for value in (CANARY, "MIIBVgIBADANBg"):
        assert value not in text
        assert value not in item.handle_msg
        assert value.encode() not in files_below(ran.runtime.settings.data_dir)
    assert HIDDEN in text


@given(value=TEXTS, before=st.text(max_size=20), after=st.text(max_size=20))
def test_a_value_is_hidden_wherever_it_stands(value: str, before: str, after: str) -> None:
    hidden = Mask([value]).hide(before + value + after)
    assert value not in hidden or value in before + HIDDEN + after


@given(value=TEXTS)
def test_the_spellings_of_python_json_and_urls_are_hidden(value: str) -> None:
    mask = Mask([value])
    for text in (json.dumps({"k": value}), repr({"k": value}), f"https://x/?p={quote(value, safe='')}"):
        assert HIDDEN in mask.hide(text)


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_a_secret_as_a_shell_spells_it(shell: str) -> None:
    """When it traces, when it lists its variables, and when it quotes."""
    interpreter = shutil.which(shell)
    assert interpreter is not None
    value = """it's my "own" $ecret, `tick` and \\ back"""
    script = 'set -x; echo "$X"; echo "before${X}after"; export -p; set'
    more = '; set +x; printf "%q\\n" "$X" "a$X"; declare -p X; echo "${X@Q}"'
    command = [interpreter, "-c", script + (more if shell == "bash" else "")]
    ran = subprocess.run(command, env={"X": value}, capture_output=True, text=True, check=True)
    for line in (ran.stdout + ran.stderr).splitlines():
        hidden = Mask([value]).hide(line)
        assert "own" not in hidden, line
        assert "tick" not in hidden, line
    assert HIDDEN in Mask([value]).hide(ran.stderr)


SIGNS = st.text(st.characters(max_codepoint=0x17F, exclude_characters="\0\x85"), max_size=8)


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@given(before=SIGNS, after=SIGNS)
@example(before="~", after="~:~=~")
@example(before="#", after="a#b\x01\x1b\x7f'")
@example(before="\xa0", after="}\xa0")
@example(before=".[^$(+", after="{|}*?)]\\")
def test_a_secret_as_bash_quotes_it_whatever_is_in_it(locale: str, before: str, after: str) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    script = """printf '%q\\n' "$X" "a$X" ":$X"; echo "${X@Q}"; declare -p X; set -x; : "$X"; [[ x =~ "$X" ]]"""
    same_in_every_locale = """; [[ x == "$X" ]]""" if (before + after).isascii() else ""
    value = f"{before}kept{after}"
    command = [bash, "-c", f"{script}{same_in_every_locale}; :"]
    ran = subprocess.run(command, env={"X": value, "LC_ALL": locale}, capture_output=True, check=True)
    for told in (ran.stdout, ran.stderr):
        hidden = Mask([value]).hide(told.decode())
        assert HIDDEN in hidden
        assert "kept" not in hidden.replace("\\", "")


@given(value=TEXTS)
@example(value='a/b&c<d>e"f\\g\u2028h')
def test_the_spellings_of_json_elsewhere_are_hidden(value: str) -> None:
    """With ``\\/`` (PHP), with ``\\u0026`` (Go), and as a text within another."""
    plain = json.dumps(value, ensure_ascii=False)
    go = plain
    for sign in "&<>\u2028\u2029":
        go = go.replace(sign, f"\\u{ord(sign):04x}")
    mask = Mask([value])
    for text in (plain.replace("/", "\\/"), go):
        assert mask.hide(text) == f'"{HIDDEN}"'
    for inner in (plain, json.dumps(value), plain.replace("/", "\\/"), go):
        for told in (json.dumps({"k": inner}), json.dumps({"k": inner}, ensure_ascii=False)):
            assert HIDDEN in mask.hide(told)


@given(value=TEXTS)
@example(value="pa'ss wörd!*()~;,/?:@&=+$#%")
def test_the_spellings_of_urls_elsewhere_are_hidden(value: str) -> None:
    """As JavaScript writes them, and with codes in lower case."""
    component, uri = quote(value, safe="!'()*"), quote(value, safe="!'()*;,/?:@&=+$#")
    for form in (component, uri, quote(value), quote(value, safe=""), quote_plus(value)):
        parts = form.split("%")
        lower = "%".join([parts[0], *(part[:2].lower() + part[2:] for part in parts[1:])])
        assert Mask([value]).hide(f" {form} {lower} ") == f" {HIDDEN} {HIDDEN} "


def test_every_line_of_a_long_secret_is_hidden_and_short_texts_are_not() -> None:
    mask = Mask(SECRETS.values())
    for line in SECRETS["PEM"].splitlines():
        assert mask.hide(f"> {line} <") == f"> {HIDDEN} <"
    assert mask.hide("an ordinary line") == "an ordinary line"
    assert Mask(["abc"]).hide("abc") == "abc"


@given(value=TEXTS, cut=st.integers(1, 30))
@example(value="abcd\x0cefgh", cut=5)
def test_the_beginning_of_a_secret_at_a_cut_is_hidden(value: str, cut: int) -> None:
    part = value[: min(cut, len(value))]
    shown = Mask([value]).hide_cut(f"line: {part}")
    assert shown.endswith(HIDDEN)
    assert part not in shown.removeprefix("line: ") or len(part) == 1


def test_a_secret_in_a_line_that_is_too_long_is_not_left_half() -> None:
    told: list[str] = []
    lines = Lines(told.extend, Mask([CANARY]))
    lines.feed(b"x" * (LINE_LIMIT - 6) + CANARY.encode() + b"\n")
    assert "s3cret" not in told[0]
    unfinished = Unfinished(Mask([CANARY]))
    written = unfinished.add(None, "y" * LINE_LIMIT + CANARY[:7])
    written += unfinished.add(None, CANARY[7:] + "\n")
    assert HIDDEN not in written[0]
    assert CANARY[:7] not in "".join(written).replace(CANARY, "")
    assert Mask([CANARY]).hide(written[-1]).endswith(f"y{HIDDEN}")


def test_a_handler_finds_its_secrets_and_its_log_does_not(app: Handlers, rig: MakeRig) -> None:
    seen: dict[str, Any] = {}

    @app.job("use")
    def use(ctx: JobContext) -> str:
        seen.update(ctx.secrets)
        seen["helper"] = helper.get_secret("DB_PASSWORD")
        value = ctx.secrets["DB_PASSWORD"]
        print(value[:5], end="")
        print(value[5:])
        print(ctx.secrets["PEM"])
        logging.getLogger("some.library").warning("connecting with %s", value)
        ctx.log("logged {}", value)
        ctx.progress(1, 2, value)
        assert value not in repr(ctx)
        return f"used {value}"

    ran = rig()
    item = ran.result(1, "use", secrets=SECRETS)
    assert seen == {**SECRETS, "helper": CANARY}
    assert item.handle_msg == f"used {HIDDEN}"
    assert_never_told(ran, 1)


def test_an_exception_does_not_tell(app: Handlers, rig: MakeRig) -> None:
    @app.job("break")
    def break_(ctx: JobContext) -> None:
        raise ValueError(f"cannot sign in with {ctx.secrets['DB_PASSWORD']}")

    @app.job("fail")
    def fail(ctx: JobContext) -> None:
        raise JobFailed(f"no {ctx.secrets['DB_PASSWORD']}")

    ran = rig()
    assert f"cannot sign in with {HIDDEN}" in ran.result(1, "break", secrets=SECRETS).handle_msg
    assert_never_told(ran, 1)
    assert ran.result(2, "fail", secrets=SECRETS).handle_msg == f"no {HIDDEN}"


def test_the_next_execution_has_none(app: Handlers, rig: MakeRig) -> None:
    @app.job("look")
    def look(ctx: JobContext) -> str:
        return f"{dict(ctx.secrets)} {helper.get_secret('DB_PASSWORD')}"

    ran = rig()
    ran.result(1, "look", secrets=SECRETS)
    assert ran.result(2, "look").handle_msg == "{} None"


def test_a_worker_process_has_them_as_variables_for_one_execution(isolated: Rig) -> None:
    item = isolated.result(1, "tell_secret", secrets={"DB_PASSWORD": CANARY})
    assert (item.handle_code, item.handle_msg) == (200, f"it is {HIDDEN}"), isolated.text(1)
    assert_never_told(isolated, 1)
    assert "s3cret" not in isolated.text(1)
    assert isolated.text(1).count(HIDDEN) >= 4
    assert isolated.result(2, "secret_left").handle_msg == "nothing"


def test_a_script_has_them_as_variables(rig: MakeRig) -> None:
    source = 'printf "%s" "$DB_PASSWORD" | wc -c; echo "$DB_PASSWORD"; echo "::result got $DB_PASSWORD"'
    script = {"glue_type": "GLUE_SHELL", "glue_source": source, "glue_updatetime": 1}
    ran = rig(scripts=("shell",))
    item = ran.result(1, "", secrets=SECRETS, **script)
    assert item.handle_msg == f"got {HIDDEN}"
    assert f" {len(CANARY.encode())}\n" in ran.text(1)
    assert_never_told(ran, 1)


def test_a_request_does_not_show_them() -> None:
    request = RunRequest(job_id=1, log_id=1, secrets=SECRETS)
    assert CANARY not in repr(request)
    assert CANARY not in str(request)


def test_jobs_are_tested_with_secrets() -> None:
    def use(ctx: JobContext) -> int:
        print(ctx.secrets["DB_PASSWORD"])
        return len(ctx.secrets["DB_PASSWORD"])

    report = run_job(use, secrets={"DB_PASSWORD": CANARY})
    assert report.message == str(len(CANARY))
    assert CANARY not in report.log_text


# --- the token of the executor


OWN_TOKEN = "orth_ext_an-executors-own-token"


def test_the_token_of_the_executor_is_hidden_in_what_jobs_write(app: Handlers, rig: MakeRig) -> None:
    @app.job("leak")
    def leak(ctx: JobContext) -> str:
        print("environ:", OWN_TOKEN)
        ctx.log("{}", {"ORTH_SECURITY__ACCESS_TOKEN": OWN_TOKEN})
        return f"the token is {OWN_TOKEN}"

    ran = rig(access_token=OWN_TOKEN)
    for log_id, secrets in ((1, None), (2, SECRETS)):
        item = ran.result(log_id, "leak", secrets=secrets)
        assert item.handle_msg == f"the token is {HIDDEN}"
        assert OWN_TOKEN not in ran.text(log_id)
        assert ran.text(log_id).count(HIDDEN) >= 2


def test_the_token_is_hidden_in_the_output_of_a_worker_process_too(tmp_path: Path) -> None:
    with ExitStack() as stack:
        made = Rig(isolated_app, tmp_path / "executor", warm_workers=1, access_token=OWN_TOKEN)
        stack.callback(made.runtime.close)
        item = made.result(1, "give_up", executor_params=OWN_TOKEN)  # a KeyError that names it
        assert "KeyError" in item.handle_msg
        assert OWN_TOKEN not in item.handle_msg + made.text(1)


def test_a_token_that_is_a_word_hides_nothing(app: Handlers, rig: MakeRig) -> None:
    app.job("say")(lambda: print("a secret test"))
    ran = rig(access_token="secret test")
    ran.result(1, "say")
    assert "a secret test" in ran.text(1)


@pytest.mark.parametrize(
    ("uid", "settings", "warns"),
    [
        (0, {"scripts": ("GLUE_SHELL",)}, True),
        (0, {}, False),
        (1000, {"scripts": ("GLUE_SHELL",)}, False),
    ],
)
def test_scripts_that_run_as_root_are_warned_of(
    app: Handlers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    uid: int,
    settings: dict[str, Any],
    warns: bool,
) -> None:
    monkeypatch.setattr("orth.executor.runtime.os.geteuid", lambda: uid)
    ran = Rig(app, tmp_path / "executor", **settings)
    try:
        told = ran.ears.of(ScriptsAsRoot)
        assert bool(told) is warns
        assert all("executor.script_user" in str(one) and "GLUE_SHELL" in str(one) for one in told)
    finally:
        ran.runtime.close()
