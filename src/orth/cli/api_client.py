"""The admin API, as commands call it.

A command takes the server and the credentials with one decorator and talks in paths::

    @exec_.command()
    @api_options
    @output_option
    def describe(api: ApiChoice, output: str, execution_id: int) -> None:
        with api.client() as client:
            found = client.get(f"/api/v1/executions/{execution_id}")

The server is ``--server``, else ``ORTH_SERVER``, else the first of ``executor.coordinators`` in the settings; where
nobody has set those, the ``orth up`` that runs in this folder (``run_here``), whose authority is trusted then. The
credential is ``ORTH_TOKEN``, else what ``orth login`` stored for that server (``sign_ins``); a stored one that has run
out is refreshed once and stored again. A problem the API answers with becomes an ``ApiProblem``, whose status decides
the exit code; a server that cannot be reached is ``Unavailable``.

Everything heavy is imported when a request is made: this module is loaded by every command that uses it, and those
answer ``--help``.
"""

import functools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from orth.cli.options import config_option
from orth.cli.run_here import RunHere, find_run
from orth.cli.sign_ins import SignIn, SignIns
from orth.cli.starting import settings_of
from orth.errors import ApiProblem, Invalid, Unavailable

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

_F = TypeVar("_F", bound=Callable[..., Any])
_TIMEOUT = 30.0
_PAGE = 200
_REFRESH_PATH = "/api/v1/auth/refresh"


@dataclass(frozen=True, slots=True)
class ApiChoice:
    """Which server a command was told to talk to."""

    server: str | None
    config: Path | None

    @property
    def url(self) -> str:
        """The base URL, from the option, the environment, the settings or the ``orth up`` here."""
        return self._found()[0]

    @property
    def run_here(self) -> RunHere | None:
        """The ``orth up`` of this folder, if it is the one to talk to."""
        return self._found()[1]

    def client(self) -> "ApiClient":
        """A client of that server with the credentials there are."""
        url, run = self._found()
        sign_ins = SignIns.of_environment(os.environ)
        return ApiClient(
            url,
            token=os.environ.get("ORTH_TOKEN"),
            sign_ins=sign_ins,
            ca_file=None if run is None else run.ca_file,
            password_file=None if run is None else run.password_file,
        )

    def stranger(self) -> "ApiClient":
        """A client of that server without credentials."""
        url, run = self._found()
        return ApiClient(url, ca_file=None if run is None else run.ca_file)

    def token(self) -> str | None:
        """The credential there is, as it is stored."""
        if given := os.environ.get("ORTH_TOKEN"):
            return given
        known = SignIns.of_environment(os.environ).find(self.url)
        return None if known is None else known.access_token

    def _found(self) -> tuple[str, RunHere | None]:
        chosen, run = self.server or os.environ.get("ORTH_SERVER"), None
        if chosen is None:
            settings = settings_of({}, self.config)
            run = find_run(settings)
            chosen = settings.executor.coordinators[0] if run is None else run.api
        if not _is_server(chosen):
            raise Invalid(f"{chosen} is not a server.", hint="It looks like http://127.0.0.1:5080.")
        return chosen.rstrip("/"), run


def api_options(command: _F) -> _F:
    """The options of every command that calls the API; the command gets them as ``api``."""

    @click.option(
        "--server",
        metavar="URL",
        help="Coordinator.  [default: $ORTH_SERVER, else the settings, else the orth up of this folder]",
    )
    @config_option
    @functools.wraps(command)
    def with_api(*arguments: Any, server: str | None, config: Path | None, **named: Any) -> Any:
        return command(*arguments, api=ApiChoice(server, config), **named)

    return with_api  # type: ignore[return-value]  # click passes by name; the wrapped command takes one more


def _is_server(url: str) -> bool:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # a port that is none, brackets that do not close
        return False


class ApiClient(AbstractContextManager["ApiClient"]):
    """One server, for the length of one command."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        sign_ins: SignIns | None = None,
        ca_file: Path | None = None,
        password_file: Path | None = None,
    ) -> None:
        """``ca_file`` is an authority to trust besides those of this machine. Whoever has to sign in is told of the
        ``password_file``.
        """
        import urllib3

        from orth.wire.bounded_http import bounded_pool
        from orth.wire.trusting import trusting

        self.url = url
        self._ca_file = ca_file
        self.tls = trusting(ca_file) if url.startswith("https:") else None
        self._sign_ins = sign_ins
        self._password_file = password_file
        self._sign_in = sign_ins.find(url) if sign_ins is not None and token is None else None
        self._token = token if self._sign_in is None else self._sign_in.access_token
        patience = urllib3.Timeout(total=_TIMEOUT)
        # A stream: an export or a log may take its time. Whoever waits for it can interrupt it.
        self._pool = bounded_pool(stream=True, retries=False, timeout=patience, ssl_context=self.tls)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.clear()

    @property
    def authorization(self) -> dict[str, str]:
        """The header that says who calls, if anybody is known."""
        return {} if self._token is None else {"Authorization": f"Bearer {self._token}"}

    def get(self, path: str, **query: object) -> Any:
        """The body of a GET; parameters that are None are left out."""
        return self.call("GET", path, query=query)

    def call(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The body of the answer, or None when it has none."""
        answer = self._request(method, path, body, query, headers)
        if answer.status == 401 and self._refreshed():
            answer = self._request(method, path, body, query, headers)
        return self._content(answer)

    def stream(self, path: str, **query: object) -> Iterator[str]:
        """The lines of an answer that goes on for long, as they come."""
        import urllib3

        answer = self._request("GET", path, None, query, None, waiting=True)
        if answer.status == 401 and self._refreshed():
            answer = self._request("GET", path, None, query, None, waiting=True)
        if answer.status != 200:
            answer.read()
            self._content(answer)
        rest = b""
        try:
            for part in answer.stream(65_536):
                *lines, rest = (rest + part).split(b"\n")
                yield from (line.decode("utf-8", "replace") for line in lines)
        except urllib3.exceptions.HTTPError as error:
            from orth.wire.network_reasons import network_sentence

            raise Unavailable(f"{network_sentence(self.url, error)} before the end.") from None
        finally:
            answer.close()

    def items(self, path: str, *, limit: int | None = None, **query: object) -> Iterator[dict[str, Any]]:
        """The items of a list, page after page; ``limit`` of them at most."""
        cursor: str | None = None
        while limit is None or limit > 0:
            size = _PAGE if limit is None else min(limit, _PAGE)
            page = self.get(path, limit=size, cursor=cursor, **query)
            yield from page["items"]
            limit = None if limit is None else limit - len(page["items"])
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def _request(
        self,
        method: str,
        path: str,
        body: object,
        query: Mapping[str, object] | None,
        headers: Mapping[str, str] | None,
        *,
        waiting: bool = False,
    ) -> "BaseHTTPResponse":
        from urllib.parse import urlencode

        import urllib3

        asked = urlencode({name: value for name, value in (query or {}).items() if value is not None}, doseq=True)
        sent = {"Accept": "application/json", "User-Agent": "orth-cli", **(headers or {}), **self.authorization}
        target = f"{self.url}{path}?{asked}" if asked else f"{self.url}{path}"
        try:
            if waiting:  # each byte may take its time, the whole may take days
                patience = urllib3.Timeout(connect=_TIMEOUT, read=_TIMEOUT)
                return self._pool.request(
                    method, target, headers=sent, redirect=False, preload_content=False, timeout=patience
                )
            return self._pool.request(method, target, json=body, headers=sent, redirect=False)
        except urllib3.exceptions.HTTPError as error:
            from orth.wire.network_reasons import network_sentence

            raise Unavailable(
                f"{network_sentence(self.url, error)}.",
                hint="Is a coordinator running there? --server chooses another.",
            ) from None

    def _refreshed(self) -> bool:
        """Whether a stored sign-in that had run out is good again."""
        old = self._sign_in
        if old is None or self._sign_ins is None:
            return False
        self._sign_in = self._token = None  # one attempt; the old token must not be shown to the refresh itself
        new = self._sign_ins.renew(self.url, old, self._refresh)
        self._token = None if new is None else new.access_token
        return new is not None

    def _refresh(self, old: SignIn) -> SignIn | None:
        answer = self._request("POST", _REFRESH_PATH, {"refresh_token": old.refresh_token}, None, None)
        if answer.status != 200:
            return None
        session = self._content(answer)
        return SignIn(old.username, session["access_token"], session["refresh_token"])

    def _other_server(self) -> Unavailable | None:
        """The error, if something else than a coordinator answers at this address."""
        from orth.doctor.answering import COORDINATOR, coordinator_above, who_answers
        from orth.doctor.asking import NoAnswer

        try:
            who = who_answers(self.url, self._ca_file)
        except NoAnswer:
            return None
        if who == COORDINATOR:
            return None
        hint = "Name a coordinator with --server or ORTH_SERVER, such as http://127.0.0.1:5080."
        if root := coordinator_above(self.url, self._ca_file):
            hint = f"A coordinator answers at {root}. Leave the path out."
        return Unavailable(f"{self.url}: {who} answers there, not a coordinator.", hint=hint)

    def _content(self, answer: "BaseHTTPResponse") -> Any:
        content = _json_of(answer)
        understood = _is_of_api(answer.status, answer.data, content)
        if not understood and (other := self._other_server()):
            raise other
        if 200 <= answer.status < 300:
            if not understood:
                raise ApiProblem(502, f"The server answered HTTP {answer.status}, and not in JSON.")
            return content
        told: dict[str, Any] = content if isinstance(content, dict) else {}
        hint = told.get("hint")
        if answer.status == 401 and "orth login" not in str(hint):
            hint = "Sign in with: orth login (or set ORTH_TOKEN)."
            if self._password_file is not None:
                hint = f"Sign in with: orth login --password-stdin < {self._password_file}"
        detail = str(told.get("detail") or f"The server answered HTTP {answer.status}.")
        troubles = [(str(one["field"]), str(one["message"])) for one in told.get("errors") or ()]
        raise ApiProblem(answer.status, detail, hint=hint, code=told.get("code"), troubles=troubles)


def _is_of_api(status: int, body: bytes, content: Any) -> bool:
    """Whether a coordinator, or a proxy before it, may have given this answer. An executor answers some requests with
    HTTP 200 and its own ``code``.
    """
    if 200 <= status < 300:
        envelope = isinstance(content, dict) and isinstance(content.get("code"), int) and "msg" in content
        return not envelope and (content is not None or body.strip() in (b"", b"null"))
    by_proxy = status < 400 or status == 401 or status >= 500
    return by_proxy or (isinstance(content, dict) and "detail" in content)


def _json_of(answer: "BaseHTTPResponse") -> Any:
    import json

    try:
        return json.loads(answer.data) if answer.data else None
    except ValueError:
        return None
