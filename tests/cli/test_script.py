"""``orth script`` against a served coordinator."""

import json
import re
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest

from orth.cli.script import script
from orth.domain.scripts import digest_of
from tests.cli.conftest import Run
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.live import Site
from tests.coordinator.http.test_scripts import SHELL, allowed_group, save, script_job

PAGE = Path(__file__).parents[2] / "docs" / "scripts.md"


class Orth(SignedIn):
    command = "script"

    def fails(self, *arguments: str, **environ: str) -> str:
        result = self._run(self.command, *arguments, **self.environ, **environ)
        assert result.exit_code != 0, result.output
        return result.output + str(result.exception)


@pytest.fixture
def orth(run: Run, served: Site) -> Orth:
    served.reset()
    return Orth(run, served)


@pytest.fixture
def job(orth: Orth) -> str:
    return str(script_job(orth.site))


@pytest.fixture(autouse=True)
def _drafts_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def editor(folder: Path, does: str) -> str:
    """An editor that does one thing to its file, and leaves a note of how the file was protected."""
    program = folder / "editor.sh"
    program.write_text(f'#!/bin/sh\nstat -c %a "$1" > {folder}/mode\necho "$1" > {folder}/file\n{does}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def code(orth: Orth, job: str) -> str:
    return str(orth.site.admin().get(f"/api/v1/scripts/{job}").json["glue_source"])


def test_code_is_shown_alone_or_with_all_that_is_known(orth: Orth, job: str) -> None:
    assert orth("show", job) == SHELL
    shown = json.loads(orth("show", job, "-o", "json"))
    assert (shown["glue_source"], shown["author"]) == (SHELL, "admin")


def test_a_file_becomes_the_code_of_a_job(orth: Orth, job: str, tmp_path: Path) -> None:
    file = tmp_path / "clean.py"
    file.write_bytes("print('ü')\r\n".encode())
    told = orth("push", job, str(file), "-m", "from the repository", "--type", "GLUE_PYTHON")
    assert re.search(r"Version +\d+ +from the repository", told)
    assert code(orth, job) == "print('ü')\r\n"
    assert "now at ETag" in orth.fails("push", job, str(file), "-m", "once more", "--if-digest", digest_of(SHELL))
    file.write_bytes(b"\xff")
    assert "not UTF-8" in orth.fails("push", job, str(file), "-m", "once more")
    file.write_text("print(1)")
    assert "glue_remark" in orth.fails("push", job, str(file), "-m", "x")


def test_an_editor_is_opened_on_a_private_file(
    orth: Orth, job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, 'echo "echo more" >> "$1"'))
    monkeypatch.delenv("VISUAL", raising=False)
    told = orth("edit", job, "-m", "say more")
    assert "say more" in told
    assert code(orth, job) == SHELL + "echo more\n"
    assert (tmp_path / "mode").read_text().strip() == "600"
    edited = Path((tmp_path / "file").read_text().strip())
    assert edited.suffix == ".sh"
    assert not edited.exists()


def test_an_editor_that_changes_nothing_saves_nothing(
    orth: Orth, job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, "true"))
    before = orth.site.contents()
    assert "Nothing was changed" in orth("edit", job, "-m", "look at it")
    assert orth.site.contents() == before


def test_what_somebody_else_saved_meanwhile_is_not_written_over(
    orth: Orth, job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = orth.environ["ORTH_TOKEN"]
    body = json.dumps({"glue_source": "echo theirs", "glue_remark": "meanwhile"})
    call = f"""curl -sf -X PUT -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' \
        -d '{body}' {orth.site.url}/api/v1/scripts/{job} >/dev/null; echo "echo mine" > "$1" """
    monkeypatch.setenv("VISUAL", editor(tmp_path, call))
    told = orth.fails("edit", job, "-m", "mine of course")
    kept = Path(re.findall(r"your version is in (\S+)", told)[0])
    assert kept.read_text() == "echo mine\n"
    assert code(orth, job) == "echo theirs"


@pytest.mark.parametrize("does", ["exit 3", None])
def test_an_editor_that_fails_saves_nothing(
    orth: Orth, job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str | None
) -> None:
    monkeypatch.setenv("VISUAL", "/nowhere/editor" if does is None else editor(tmp_path, does))
    told = orth.fails("edit", job, "-m", "some words")
    assert "cannot be started" in told if does is None else "ended with 3" in told
    assert code(orth, job) == SHELL


def test_versions_are_listed_compared_and_brought_back(orth: Orth, job: str) -> None:
    save(orth.site.admin(), int(job), "#!/bin/sh\necho two\n", "the second")
    head, new, old = orth("versions", job).splitlines()
    assert head.split() == ["ID", "SAVED", "AUTHOR", "TYPE", "BYTES", "SHA256", "REMARK"]
    assert new.endswith("the second")
    first = old.split()[0]
    assert orth("diff", job, first).splitlines()[-2:] == ["-echo one", "+echo two"]
    assert orth("diff", job, first, new.split()[0]).splitlines()[0] == f"--- version {first}"
    assert "it was better" in orth("rollback", job, first, "-m", "it was better")
    assert code(orth, job) == SHELL
    assert orth("versions", job, "-o", "name").split()[1:] == [new.split()[0], first]


def test_a_draft_is_tried(orth: Orth, job: str, tmp_path: Path) -> None:
    file = tmp_path / "draft.sh"
    file.write_text("echo draft")
    opened = orth("test", job, str(file), "--param", "monday", "-o", "name").strip()
    shown = orth.site.admin().get(f"/api/v1/executions/{opened}").json
    assert (shown["test"], shown["executor_param"]) == (True, "monday")
    assert orth("test", job, "--key", "k", "-o", "name") == orth("test", job, "--key", "k", "-o", "name")
    assert code(orth, job) == SHELL


@pytest.mark.parametrize(
    "fields", [{}, {"address_type": 1, "address_list": ["http://10.0.0.1:9999"], "dialect": "xxl"}]
)
def test_a_group_is_allowed_and_forbidden_scripts(orth: Orth, fields: dict[str, Any]) -> None:
    group = orth.site.group("shop", title="The shop", **fields)
    before = orth.site.admin().get(f"/api/v1/groups/{group}").json
    assert orth("allow", str(group)) == "shop: scripts are allowed.\n"
    assert orth.site.admin().get(f"/api/v1/groups/{group}").json == {**before, "scripts_allowed": True}
    assert orth("forbid", str(group)) == "shop: scripts are not allowed.\n"
    assert orth.site.admin().get(f"/api/v1/groups/{group}").json == before


def test_a_forbidden_group_is_told_of(orth: Orth) -> None:
    group = allowed_group(orth.site, "closed")
    job = str(script_job(orth.site, job_group=group))
    orth("forbid", str(group))
    assert "does not allow scripts" in orth.fails("test", job)


def test_the_page_shows_every_command(orth: Orth) -> None:
    assert set(re.findall(r"^\$ orth script (\w+)", PAGE.read_text(), re.MULTILINE)) == set(script.commands)
