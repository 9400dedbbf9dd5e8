"""The command line signed in to a real coordinator, for the tests of its commands."""

from tests.cli.conftest import Run
from tests.coordinator.http.live import Site


class SignedIn:
    """One command, signed in to a coordinator with an empty store."""

    command: str

    def __init__(self, run: Run, site: Site) -> None:
        self._run = run
        self.site = site
        token = site.admin().headers["Authorization"].removeprefix("Bearer ")
        self.environ = {"ORTH_SERVER": site.url, "ORTH_TOKEN": token}

    def __call__(self, *arguments: str) -> str:
        result = self._run(self.command, *arguments, **self.environ)
        assert result.exit_code == 0, (result.output, result.exception)
        return result.output
