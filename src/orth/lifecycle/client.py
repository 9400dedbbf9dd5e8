"""The Registry API as its clients call it: synchronous, each call bounded.

A call that does not succeed raises ``RegistryTrouble`` with its cause; what follows from that is decided elsewhere.
Several addresses are equal, as coordinators are: a call goes to the one that answered last and, if nobody is there or
it is overloaded, to the next. An answer that says no is an answer.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from ssl import SSLContext
from typing import Any

from urllib3.exceptions import HTTPError, NewConnectionError
from urllib3.exceptions import TimeoutError as HttpTimeout

from orth.clock import Clock
from orth.domain.services import ServiceKind, ServiceStatus
from orth.errors import Invalid, InvalidMessage, OrthError, TooLarge
from orth.lifecycle.facts import Cause
from orth.settings.values import hide_passwords
from orth.wire.bounded_http import BoundedHttp, Overdue
from orth.wire.dialects import Dialect, auth_headers
from orth.wire.fields import BODY_LIMIT
from orth.wire.network_reasons import network_sentence
from orth.wire.signatures import Key, Signer
from orth.wire.signed_http import SignedHttp
from orth.wire.strict_json import read_json

_PATHS = {ServiceKind.ORCHESTRATOR: "/api/orchestrators", ServiceKind.AGENT: "/api/agents"}
_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
_OVERLOADED = (
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)
# So answers an admin of xxl-job, or what stands in for one, to a path or method that it does not have.
_NOT_UNDERSTOOD = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.NOT_ACCEPTABLE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.NOT_IMPLEMENTED,
)
_ELSEWHERE = (Cause.NETWORK, Cause.TIMEOUT, Cause.UNAVAILABLE)
_HOSTS = 16
_CONNECTIONS = 2
_SHOWN = 200
_NAME_LIMIT = 64


class RegistryTrouble(OrthError):
    """A call to the registry that did not succeed."""

    status = 503
    kind = "registry-trouble"

    def __init__(self, cause: Cause, reason: str, *, answered: int | None = None, ours: bool = False) -> None:
        """``answered`` is the status of the answer, ``ours`` whether it is one of Orth."""
        super().__init__(hide_passwords(reason))
        self.cause = cause
        self._answered = answered
        self._ours = ours

    @property
    def is_no_registry(self) -> bool:
        """Whether it is the answer of somebody who has no Registry API."""
        redirected = self._answered is not None and 300 <= self._answered < 400
        known = self.cause in (Cause.NOT_FOUND, Cause.MALFORMED) or self._answered == HTTPStatus.METHOD_NOT_ALLOWED
        return known or redirected or (self._answered in _NOT_UNDERSTOOD and not self._ours)


@dataclass(frozen=True, slots=True)
class Registration:
    """What a process says of itself."""

    kind: ServiceKind
    url: str
    incarnation: str
    name: str
    orchestrator_id: str | None = None


@dataclass(frozen=True, slots=True)
class Orchestrator:
    """A coordinator, as the registry lists it."""

    id: str
    url: str
    status: str


class RegistryApi:
    """The way to the registry. Safe to share between threads."""

    def __init__(
        self,
        addresses: Sequence[str],
        token: str,
        *,
        timeout: float,
        clock: Clock,
        signer: Signer | None = None,
        tls: SSLContext | None = None,
        own_key: Key | None = None,
    ) -> None:
        """``own_key`` is what a coordinator has beside the token."""
        self.timeout = timeout
        self._addresses: tuple[str, ...] = ()
        self._last_good = ""
        self._clock = clock
        self._headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        self._token_flaw = ""
        shown: dict[str, str] = {}
        try:
            shown = auth_headers(token, Dialect.ORTH)
        except Invalid as flaw:  # a coordinator works with such a token; no executor and no registry would
            self._token_flaw = str(flaw)
        http = BoundedHttp(clock, hosts=_HOSTS, connections=_CONNECTIONS, tls=tls)
        self._http = SignedHttp(http, token, shown, signer, own_key=own_key)
        self.use(addresses)

    @property
    def addresses(self) -> tuple[str, ...]:
        return self._addresses

    def use(self, addresses: Sequence[str]) -> None:
        """From now on, these; none is no registry."""
        self._addresses = tuple(address.rstrip("/") for address in addresses)
        if self._last_good not in self._addresses:
            self._last_good = self._addresses[0] if self._addresses else ""

    def register(self, me: Registration) -> str:
        """The id under which the registry knows ``me`` from now on."""
        said = {"url": me.url, "incarnation": me.incarnation, "name": me.name[:_NAME_LIMIT]}
        if me.orchestrator_id is not None:
            said["orchestratorId"] = me.orchestrator_id
        answer = self._ask("POST", f"{_PATHS[me.kind]}/register", said)
        given = answer.get("id") if isinstance(answer, dict) else None
        if not isinstance(given, str) or not _ID.fullmatch(given):
            raise RegistryTrouble(Cause.MALFORMED, f"{self._last_good} gave no id: {_shown(answer)}")
        return given

    def beat(self, kind: ServiceKind, service_id: str) -> None:
        self._ask("POST", f"{_PATHS[kind]}/{service_id}/heartbeat")

    def set_status(
        self, kind: ServiceKind, service_id: str, status: ServiceStatus, *, timeout: float | None = None
    ) -> None:
        self._ask("POST", f"{_PATHS[kind]}/{service_id}/status", {"status": status.value}, timeout=timeout)

    def unregister(self, kind: ServiceKind, service_id: str, *, timeout: float) -> None:
        self._ask("POST", f"{_PATHS[kind]}/{service_id}/unregister", timeout=timeout)

    def orchestrators(self) -> list[Orchestrator]:
        """Every coordinator the registry lists; entries without the form of one are left out."""
        answer = self._ask("GET", _PATHS[ServiceKind.ORCHESTRATOR])
        if not isinstance(answer, list):
            raise RegistryTrouble(Cause.MALFORMED, f"{self._last_good} gave no list: {_shown(answer)}")
        return [
            Orchestrator(one["id"], one["url"], one["status"])
            for one in answer
            if isinstance(one, dict) and all(isinstance(one.get(key), str) for key in ("id", "url", "status"))
        ]

    def close(self) -> None:
        self._http.close()

    def _ask(self, method: str, path: str, said: object = None, *, timeout: float | None = None) -> Any:
        """The JSON of the answer, or None where it is empty. Any: the form is checked by whoever asked."""
        addresses = sorted(self._addresses, key=lambda address: address != self._last_good)
        trouble = RegistryTrouble(Cause.CONFIGURATION, self._token_flaw or "there is no address of a registry")
        if self._token_flaw:
            raise trouble
        for address in addresses:
            try:
                answer = self._exchange(method, address, path, said, timeout or self.timeout)
            except RegistryTrouble as failed:
                trouble = failed
                if failed.cause not in _ELSEWHERE:
                    break
                continue
            self._last_good = address
            return answer
        raise trouble

    def _exchange(self, method: str, address: str, path: str, said: object, timeout: float) -> Any:  # Any: as above
        url = address + path
        body = None if said is None else json.dumps(said).encode()
        headers = self._headers if body is None else {**self._headers, "Content-Type": "application/json"}
        began = self._clock.monotonic()
        try:
            found = self._http.ask(method, address, path, headers=headers, timeout=timeout, body=body)
        except HTTPError as error:
            overdue = self._clock.monotonic() - began >= timeout
            raise _no_answer(url, error, timeout, overdue=overdue) from None
        status, answer = found.status, found.body
        if status >= HTTPStatus.MULTIPLE_CHOICES:
            problem = _problem(answer)
            reason = f"{url} answered {status}{problem}"
            raise RegistryTrouble(_cause_of(status), reason, answered=status, ours=bool(problem))
        if not answer.strip():
            return None
        try:
            return read_json(answer, BODY_LIMIT)
        except (InvalidMessage, TooLarge):
            raise RegistryTrouble(Cause.MALFORMED, f"{url} answered no JSON: {_shown(answer)}") from None


def _no_answer(url: str, error: HTTPError, timeout: float, *, overdue: bool) -> RegistryTrouble:
    # A refused connection is a kind of timeout to urllib3, not to people.
    timed_out = overdue or (isinstance(error, HttpTimeout | Overdue) and not isinstance(error, NewConnectionError))
    if timed_out:
        return RegistryTrouble(Cause.TIMEOUT, f"no answer from {url} within {timeout:g} s")
    return RegistryTrouble(Cause.NETWORK, network_sentence(url, error))


def _cause_of(status: int) -> Cause:
    if status == HTTPStatus.NOT_FOUND:
        return Cause.NOT_FOUND
    return Cause.UNAVAILABLE if status in _OVERLOADED else Cause.REFUSED


def _problem(answer: bytes) -> str:
    """What the answer says went wrong, if it says so in our way."""
    try:
        problem = read_json(answer, BODY_LIMIT)
    except (InvalidMessage, TooLarge):
        return ""
    detail = problem.get("detail") if isinstance(problem, dict) else None
    return f": {detail[:_SHOWN]}" if isinstance(detail, str) and detail else ""


def _shown(answer: object) -> str:
    text = answer.decode(errors="replace") if isinstance(answer, bytes) else json.dumps(answer)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
