"""Requests made from the OpenAPI document, each sent by everybody: what is answered conforms, and tells nobody what is
not theirs.

A request is thought of once and sent with every credential, those first that may least. Beside requests as the document
allows them, and such as it forbids, there are some *aimed* at the things of a group: random ids would find nothing.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.core.result import Ok
from schemathesis.core.transport import Response
from schemathesis.generation import GenerationMode

from tests.coordinator.http.marked_site import THEIR_MARKS, WHO_MAY_MOST, MarkedSite
from tests.coordinator.http.test_app import OPEN

Operation = schemathesis.APIOperation[Any, Any, Any, Any]
Case = schemathesis.Case[Any]

CONFORMANCE = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
OPEN_OPERATIONS = frozenset(f"{method} {path}" for method, path in OPEN)
_HASHING = ("/login", "/auth/session", "/password", "/api/v1/users")
"""Each try at these costs a password hash."""
_BAD_BODIES = (400, 413, 415)
"""What nobody may be told instead of 401: that no JSON was sent. Bodies are read before anybody is asked who they are.
"""
_SAFE = ("GET", "HEAD")


def operations_of(document: dict[str, Any]) -> list[Operation]:
    """The operations a client could be made from: those that are understood."""
    results = schemathesis.openapi.from_dict(document).get_all_operations()
    return [result.ok() for result in results if isinstance(result, Ok)]


@dataclass
class Tally:
    """What was answered."""

    requests: int = 0
    by_caller: dict[str, Counter[int]] = field(default_factory=dict)
    """How often each caller got what kind of status."""
    seen: set[str] = field(default_factory=set)
    """The marks of ``theirs`` that were shown to who may see them."""

    def count(self, who: str, status: int) -> None:
        self.requests += 1
        self.by_caller.setdefault(who, Counter())[status // 100] += 1


class AskedByAll:
    """Sends what is made from the document, as everybody, and looks at the answers."""

    def __init__(self, marked: MarkedSite, tally: Tally) -> None:
        self._marked = marked
        self._tally = tally
        self._sessions = {who: _session(caller.headers) for who, caller in marked.callers.items()}
        self._changed = False
        self._left_for_all = 0
        self._checked: set[tuple[str, int, str]] = set()
        """Answers that were found to conform; many are the same for several callers."""

    def exercise(self, operation: Operation, examples: int, *, by_all: int | None = None, chance: int = 0) -> None:
        """So many requests of each kind: the first ``by_all`` of them sent by everybody, the others by who may most.
        Without a chance they are the same each time.
        """
        if operation.path.endswith(_HASHING) and operation.method != "get":
            examples = 1
        for_all = examples if by_all is None else by_all
        for strategy, count in (
            *((one, examples) for one in self._plain(operation)),
            *((one, for_all) for one in self._aimed(operation)),
        ):
            self._left_for_all = for_all
            self._run(strategy, count, chance)
            if self._changed:
                self._marked.restore()
                self._changed = False

    def _plain(self, operation: Operation) -> Iterator[SearchStrategy[Case]]:
        yield operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
        if _asks(operation):
            yield operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

    def _aimed(self, operation: Operation) -> Iterator[SearchStrategy[Case]]:
        if _asks(operation):
            good = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
            yield good.map(self._aimer(operation, at_theirs=False))
            yield good.map(self._aimer(operation, at_theirs=True))

    def _aimer(self, operation: Operation, *, at_theirs: bool) -> Callable[[Case], Case]:
        aims = self._marked.aims(at_theirs=at_theirs)
        if operation.path.startswith("/api/v1/scripts"):
            aims["job_id"] = self._marked.script_of(at_theirs=at_theirs)
        parameters = operation.definition.raw.get("parameters", ())
        kept = aims.keys() | {one["name"] for one in parameters if one.get("required")}

        def aimed(case: Case) -> Case:
            case.path_parameters = {name: aims.get(name, value) for name, value in (case.path_parameters or {}).items()}
            asked = {name: value for name, value in (case.query or {}).items() if name in kept}
            case.query = {name: aims.get(name, value) for name, value in asked.items()}
            if isinstance(case.body, dict):
                case.body = {name: aims.get(name, value) for name, value in case.body.items()}
            return case

        return aimed

    def _run(self, strategy: SearchStrategy[Case], examples: int, chance: int) -> None:
        @seed(chance)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=strategy)
        def conforms(case: Case) -> None:
            callers = self._marked.callers if self._left_for_all > 0 else (WHO_MAY_MOST,)
            self._left_for_all -= 1
            self._send(case, callers)

        conforms()

    def _send(self, case: Case, callers: Iterable[str]) -> None:
        """One request, as each of these."""
        request: requests.PreparedRequest | None = None
        for who in callers:
            session, caller = self._sessions[who], self._marked.callers[who]
            if request is None:
                answer = case.call(base_url=caller.url, session=session, headers=caller.headers)
                request = answer.request
            else:
                again = request.copy()
                again.headers.update(caller.headers)
                answer = Response.from_requests(session.send(again, allow_redirects=False), verify=True)
            self._look_at(who, case, answer)

    def _look_at(self, who: str, case: Case, answer: Response) -> None:
        self._tally.count(who, answer.status_code)
        self._changed |= case.method not in _SAFE and answer.status_code < 300
        text = _told(answer)
        if (what := (case.operation.label, answer.status_code, text)) not in self._checked:
            case.validate_response(answer, checks=CONFORMANCE)
            self._checked.add(what)
        if who == "nobody" and case.operation.label not in OPEN_OPERATIONS:
            assert answer.status_code == 401 or (answer.status_code in _BAD_BODIES and answer.request.body), text
            assert '"application/problem+json"' in text
        asked = f"{case.path_parameters} {case.query} {case.body}".lower()
        told = {mark for mark in self._marked.forbidden(who) if mark in text and mark not in asked}
        assert not told, (who, case.operation.label, told)
        if who == WHO_MAY_MOST:
            self._tally.seen |= {mark for mark in THEIR_MARKS if mark in text}


def _asks(operation: Operation) -> bool:
    """Whether anything is asked of the caller; else nothing can be wrong, or about something."""
    return bool({"parameters", "requestBody"} & operation.definition.raw.keys())


def _told(response: Response) -> str:
    """All of an answer, in small letters."""
    headers = json.dumps({name: list(values) for name, values in response.headers.items() if name != "date"})
    return (headers + "\n" + response.content.decode("utf-8", "replace")).lower()


def _session(headers: dict[str, str]) -> requests.Session:
    """A connection that is kept, and keeps no cookie."""
    session = requests.Session()
    session.trust_env = False  # to look for proxies costs more than the request
    session.headers.update(headers)
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return session
