from pathlib import Path

import pytest

from orth.errors import CannotStart
from orth.executor.loading import load_handler, load_handlers

ONE = 'from orth import Executor\napp = Executor("one-app")\n@app.job\ndef hello(): ...\n'


pytestmark = pytest.mark.usefixtures("imports_undone")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_may_import_what_lies_beside_it(here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub" / "neighbour_of_jobs.py").write_text('NAME = "near-app"\n')
    (here / "sub" / "some_jobs.py").write_text(
        "from neighbour_of_jobs import NAME\nfrom orth import Executor\napp = Executor(NAME)\n"
    )
    assert load_handlers("sub/some_jobs.py").app_name == "near-app"


def test_a_module_is_found_from_the_working_directory(here: Path) -> None:
    (here / "a_package").mkdir()
    (here / "a_package" / "__init__.py").touch()
    (here / "a_package" / "jobs.py").write_text(ONE)
    assert load_handlers("a_package.jobs").names() == ["hello"]
    assert load_handlers("a_package.jobs:app").app_name == "one-app"


def test_one_of_several_is_named(here: Path) -> None:
    (here / "jobs.py").write_text(ONE + 'other = Executor("other-app")\nalias = app\n')
    assert load_handlers("jobs.py:other").app_name == "other-app"
    with pytest.raises(CannotStart, match=r"several Executors in jobs.py: alias, app, other. Name one: jobs.py:NAME"):
        load_handlers("jobs.py")


def test_two_names_for_one_executor_are_one(here: Path) -> None:
    (here / "jobs.py").write_text(ONE + "alias = app\n")
    assert load_handlers("jobs.py").app_name == "one-app"


@pytest.mark.parametrize(
    ("text", "target", "complaint"),
    [
        (None, "jobs.py", "There is no file jobs.py."),
        (None, "jobs", "There is no module jobs. A file needs its ending: jobs.py."),
        (None, "no_such.package", "There is no module no_such.package."),
        ("x = 1", "jobs.py", "There is no Executor in jobs.py."),
        ("x = 1", "jobs.py:x", "x in jobs.py is not an Executor."),
        ("x = 1", "jobs.py:y", "y in jobs.py is not an Executor."),
        ("\nimport no_such_thing", "jobs.py", "No module named 'no_such_thing' ("),
        (
            "import sys\nsys.exit()",
            "jobs.py",
            "jobs.py exits with code 0 while it is loaded ({here}/jobs.py:2). Put app",
        ),
        ("raise SystemExit(3)", "jobs.py", "jobs.py exits with code 3 while it is loaded ({here}/jobs.py:1)."),
        ("raise SystemExit('no')", "jobs", "jobs exits (no) while it is loaded ({here}/jobs.py:1)."),
        ("\n\n1 / 0", "jobs.py", "ZeroDivisionError: division by zero ("),
        ("def (", "jobs.py", "SyntaxError: invalid syntax ({here}/jobs.py:1): def ("),
        ("x = 1\n  y = 2", "jobs", "IndentationError: unexpected indent ({here}/jobs.py:2): y = 2"),
        ("import broken", "jobs.py", "SyntaxError: invalid syntax ({here}/broken.py:2): while True print(1)"),
        ("x = '\0'", "jobs.py", "source code string cannot contain null bytes"),
        ("open('no such file')", "jobs", "No such file or directory: 'no such file' ({here}/jobs.py:1)."),
        (
            ONE + ONE.split("\n", 2)[2],
            "jobs.py",
            "jobs.py cannot be loaded: There are two handlers called hello: the first is at {here}/jobs.py:3 "
            "({here}/jobs.py:5). Name one of them",
        ),
        (
            ONE + "@app.job(block='x')\ndef more(): ...",
            "jobs.py",
            "no block strategy 'x' ({here}/jobs.py:5). W",
        ),
        (
            ONE + "@app.job\ndef more(a: '...'): yield",
            "jobs.py",
            "is a generator: calling it would run nothing (",
        ),
        (
            'from orth import Executor\n\napp = Executor("abc")',
            "jobs.py",
            "jobs.py cannot be loaded: No group can have the app name 'abc'. It must have 4 to 64 characters and has 3 "
            "({here}/jobs.py:3). Write a name such as",
        ),
        (
            ONE + "from orth import Retry\n@app.job(retry=Retry(attempts=100000))\ndef more(): ...",
            "jobs.py",
            "There can be 1 to 100 attempts, not 100000 ({here}/jobs.py:6).",
        ),
        (ONE + "from orth import Retry\nRetry(delay='5 parsecs')", "jobs.py", " ({here}/jobs.py:6)."),
        (ONE + "\napp.main()", "jobs.py", "app.main() runs while the file is loaded ({here}/jobs.py:6). Put app"),
        (ONE + "\napp.main()", "jobs", "app.main() runs while the file is loaded ({here}/jobs.py:6). Put app"),
        (
            "import pydantic\nclass M(pydantic.BaseModel):\n    a: int\n    b: list[int]\nM(a='pass', b=['x'])",
            "jobs.py",
            "ValidationError: M: a: Input should be a valid integer, unable to parse string as an integer; b.0: Input "
            "should be a valid integer, unable to parse string as an integer ({here}/jobs.py:5).",
        ),
        (
            "import pydantic\npydantic.BaseModel()\npydantic.TypeAdapter(object())",
            "jobs.py",
            "({here}/jobs.py:2).",
        ),
        ("import json\njson.loads('{')", "jobs.py", "({here}/jobs.py:2)."),
        ("import json\nfrom failing import fail\nfail()", "jobs.py", "ValueError: one two ({here}/failing.py:2)."),
        ("raise BaseException('enough')", "jobs.py", "BaseException: enough ({here}/jobs.py:1)."),
        ("raise BaseException('enough')", "jobs", "BaseException: enough ({here}/jobs.py:1)."),
        (ONE + "@app.job(shedule='x')\ndef more(): ...", "jobs.py", "argument 'shedule' ({here}/jobs.py:5)."),
    ],
)
def test_what_cannot_be_loaded_is_told_in_one_line(here: Path, text: str | None, target: str, complaint: str) -> None:
    (here / "broken.py").write_text("\nwhile True print(1)\n")
    (here / "failing.py").write_text("def fail():\n    raise ValueError('one\\n\\ntwo')\n")
    if text is not None:
        (here / "jobs.py").write_text(text)
    with pytest.raises(CannotStart) as refused:
        load_handlers(target)
    assert complaint.format(here=here) in str(refused.value)
    assert not any(word in str(refused.value) for word in ("importlib", "site-packages", "<string>", "https:", "pass'"))
    assert "\n" not in str(refused.value)


def test_the_place_in_an_installed_package_is_named(here: Path) -> None:
    installed = here / "site-packages" / "installed_jobs"
    installed.mkdir(parents=True)
    (installed / "__init__.py").touch()
    (installed / "jobs.py").write_text("import json\njson.loads('{')\n")
    with pytest.raises(CannotStart, match=r"site-packages/installed_jobs/jobs\.py:2\)"):
        load_handlers("site-packages/installed_jobs/jobs.py")


def test_an_interrupt_is_no_mistake_of_the_author(here: Path) -> None:
    (here / "jobs.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_handlers("jobs.py")


def test_the_place_of_the_authors_error_is_named(here: Path) -> None:
    (here / "jobs.py").write_text("\n\n1 / 0\n")
    with pytest.raises(CannotStart, match=r"jobs\.py:3\)"):
        load_handlers("jobs.py")


def test_a_handler_is_found_by_its_name_or_its_function_s_in_any_executor(here: Path) -> None:
    more = 'other = Executor("other-app")\n@other.job("by-name")\ndef by_function(): ...\n'
    (here / "jobs.py").write_text(ONE + more)
    assert load_handler("jobs.py:hello").name == "hello"
    assert load_handler("jobs.py:by-name").name == "by-name"
    assert load_handler("jobs.py:by_function").name == "by-name"
    with pytest.raises(CannotStart, match=r"no handler nobody in jobs\.py\. It has by-name, hello\."):
        load_handler("jobs.py:nobody")
    with pytest.raises(CannotStart, match=r"Write jobs\.py:NAME\. It has by-name, hello\."):
        load_handler("jobs.py")
