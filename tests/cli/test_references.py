"""Jobs and groups as commands take them: by id, by app name, by app name and job name."""

from collections.abc import Iterator

import click
import pytest

from orth.cli.frame import SUBCOMMANDS, orth
from orth.cli.references import GROUP, JOB, Reference
from orth.errors import NotFound
from tests.cli.conftest import Run
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.live import Site
from tests.coordinator.http.test_scripts import SHELL, script_job

OTHER_NUMBERS = {"execution_id", "execution_ids", "batch_id", "channel_id", "silence_id", "executor_id", "token_id"} | {
    "old",
    "new",
    "version_id",
}
"""Parameters that are numbers of something else than a job or a group. Such things have no names."""
TYPES: dict[str, click.ParamType[Reference]] = {
    "job_id": JOB,
    "job_ids": JOB,
    "job_": JOB,
    "job_group": GROUP,
    "group_": GROUP,
    "group": GROUP,
}


def parameters(command: click.Command, path: str) -> Iterator[tuple[str, click.Parameter]]:
    yield from ((path, one) for one in command.params)
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from parameters(below, f"{path} {name}")


def all_parameters() -> Iterator[tuple[str, click.Parameter]]:
    for name in SUBCOMMANDS:
        command = orth.get_command(click.Context(orth), name)
        assert command is not None
        yield from parameters(command, name)


def test_every_command_takes_jobs_and_groups_by_name() -> None:
    found = [(path, one) for path, one in all_parameters() if path not in ("import", "import xxl-job")]
    numbers = {f"{path}: {one.name}" for path, one in found if one.type is click.INT and one.name not in OTHER_NUMBERS}
    assert not numbers, "a job or a group has the type JOB or GROUP; the number of another thing belongs into the list"
    other = {f"{path}: {one.name}" for path, one in found if one.name in TYPES and one.type is not TYPES[one.name]}
    assert not other
    assert {one.type for _, one in found} >= {JOB, GROUP}


@pytest.mark.parametrize("text", ["nonsense", "/good", "shop-app/", "", "-1"])
def test_what_names_no_job_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is neither the id of a job nor GROUP/NAME"):
        JOB.convert(text, None, None)


def test_a_reference_is_a_number_or_a_name() -> None:
    assert [JOB.convert(text, None, None) for text in ("7", "shop-app/7", "a/b/c")] == [7, "shop-app/7", "a/b/c"]
    assert [GROUP.convert(text, None, None) for text in ("7", "shop-app")] == [7, "shop-app"]
    with pytest.raises(click.BadParameter, match="is neither the id nor the app name of a group"):
        GROUP.convert(" ", None, None)


class Orth(SignedIn):
    def __call__(self, *arguments: str) -> str:
        self.command, *others = arguments
        return super().__call__(*others)


@pytest.fixture
def site(served: Site) -> Site:
    served.reset()
    return served


def test_executions_are_filtered_by_name(run: Run, site: Site) -> None:
    groups = {name: site.group(name) for name in ("shop-app", "mail-app")}
    jobs = {name: site.job(job_group=group, job_desc="good") for name, group in groups.items()}
    first, _other = (site.execution(job_id) for job_id in jobs.values())
    command = Orth(run, site)
    for options in (("--group", "shop-app"), ("--job", "shop-app/good"), ("--job", str(jobs["shop-app"]))):
        assert command("exec", "list", *options, "-o", "name").split() == [str(first)]
        assert command("exec", "retry", *options, "--dry-run") == "Would be done  0\n"
        assert command("exec", "dead", "list", *options, "-o", "name") == ""
        assert command("exec", "dead", "drop", *options, "--dry-run") == "Would be dropped  0\n"
        assert "init 1 " in command("stats", *options)
        assert command("stats", *options, "--by", "hour").startswith("START")
        assert command("alarm", "silences", "add", *options, "--for", "2h", "--reason", "moving").startswith("Silence")
    assert command("alarm", "list", "--job", "shop-app/good", "-o", "name") == ""
    for options in (("--group", "shop-app"), ("--job", "shop-app/good"), ("--id", str(jobs["shop-app"]))):
        assert '"shop-app"' in command("export", *options)
        assert '"mail-app"' not in command("export", *options)


def test_a_name_that_nothing_has_is_told(run: Run, site: Site) -> None:
    site.group("shop-app")
    environ = Orth(run, site).environ
    for options, said in (
        (("--group", "shop"), "There is no group shop. There are: shop-app."),
        (("--job", "shop-app/good"), "There is no job shop-app/good."),
    ):
        refused = run("exec", "list", *options, **environ).exception
        assert isinstance(refused, NotFound)
        assert str(refused) == said


def test_a_group_that_is_deleted_is_still_a_filter_by_its_id(run: Run, site: Site) -> None:
    assert Orth(run, site)("exec", "list", "--group", "999", "-o", "name") == ""


def test_a_secret_of_a_group_is_set_by_its_name(run: Run, site: Site) -> None:
    group = site.group("shop-app")
    command = Orth(run, site)
    stored = run("secret", "set", "PASSWORD", "--group", "shop-app", typed="a secret value\n", **command.environ)
    assert stored.output == "PASSWORD has version 1.\n"
    assert command("secret", "list", "--group", "shop-app").splitlines()[1].split()[:2] == ["PASSWORD", str(group)]
    assert command("secret", "delete", "PASSWORD", "--group", "shop-app") == ""


def test_code_is_shown_and_saved_by_the_name_of_its_job(run: Run, site: Site) -> None:
    job = site.admin().get(f"/api/v1/jobs/{script_job(site)}").json
    group = site.admin().get(f"/api/v1/groups/{job['job_group']}").json["app_name"]
    assert Orth(run, site)("script", "show", f"{group}/{job['job_desc']}") == SHELL
    assert Orth(run, site)("script", "versions", f"{group}/{job['job_desc']}").startswith("ID")
