"""What an executor says to its coordinators.

Coordinators are equal, so the first that accepts a message is enough: the addresses are tried in turn, beginning with
the one that worked last. A call may be repeated without harm (a registration is a heartbeat, a result is stored once),
so a lost answer and a lost request are the same thing here: the next address is tried, and the caller comes back later.
The addresses may change while the executor runs (``use``): calls on their way end with the old ones.

A coordinator of ours proves what it answers (``signatures``). An answer that is not proved counts as a lost one:
somebody on the way may have changed it, or have kept it from an earlier question.

Results are a list; to coordinators of xxl-job 3.5, which take nothing else, the list of an object. Which of the two one
of another make takes is found out by trying.
"""

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from ssl import SSLContext
from typing import Protocol

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, SSLError

from orth.clock import Clock, SystemClock
from orth.errors import Invalid, Unavailable
from orth.wire.addresses import checked_address
from orth.wire.beginnings import BEGUN_PATH, BegunReport, read_begun_answer
from orth.wire.bounded_http import Answer, BoundedHttp
from orth.wire.dialects import (
    CONTENT_TYPE,
    EXTENSIONS_HEADER,
    VERDICTS,
    Dialect,
    auth_headers,
    callback_item_body,
    read_reply,
    read_verdicts,
    registry_body,
)
from orth.wire.enrolment_calls import Enrolment
from orth.wire.fields import BODY_LIMIT
from orth.wire.messages import CallbackItem, CallbackVerdict, RegistryRequest, Reply, Verdict
from orth.wire.network_reasons import network_sentence
from orth.wire.open_offers import OPEN_OFFERS_PATH, OpenOffers, OpenOffersQuestion, read_open_offers
from orth.wire.signatures import RECEIVER_HEADER, Signer
from orth.wire.signed_http import SignedHttp
from orth.wire.work_keys import acknowledged

BATCH_LIMIT = BODY_LIMIT - 64 * 1024
"""Bytes of results sent at once; the rest is room for whatever a proxy adds."""
_NOT_KNOWN = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
_FOR_NOW = (
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)
"""Answers that say nothing of what was told."""
_NOT_LET_IN = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_CALLBACK = "/api/callback"
_UNPROVED = "nothing proves that this answer is a coordinator's"
_NOT_REACHED = (NewConnectionError, ConnectTimeoutError, SSLError)
SIGNING_COORDINATORS_FILE = "signing-coordinators"
"""Where an executor remembers, in its data directory, which coordinators read signatures."""
_CONNECTIONS = 8
_HOSTS = 16


class NotKnownThere(Unavailable):
    """A coordinator is there and does not know what it is asked: it is older."""

    kind = "not-known-there"


class NotTaken(Unavailable):
    """A coordinator is there and will not take what it is told."""

    kind = "not-taken"


class NotProved(HTTPError):
    """An answer of which nothing proves that a coordinator gave it to this question."""


class Unanswered(Unavailable):
    """Somebody is there, and said nothing in time, broke off, or said that nobody can answer at the moment."""

    kind = "unanswered"


class CoordinatorLink(Protocol):
    """The way to the coordinators, as the executor's parts see it."""

    def register(self, request: RegistryRequest) -> str | None: ...

    def unregister(self, request: RegistryRequest) -> None: ...

    def call_back(self, items: Sequence[CallbackItem]) -> list[CallbackVerdict]: ...

    def tell_begun(self, report: BegunReport) -> frozenset[int]: ...


class CoordinatorCalls:
    """The way to the coordinators over HTTP. Safe to share between threads."""

    def __init__(
        self,
        addresses: Sequence[str],
        token: str,
        timeout: float = 3.0,
        pool: urllib3.PoolManager | None = None,
        *,
        app_name: str = "",
        clock: Clock | None = None,
        signer: Signer | None = None,
        tls: SSLContext | None = None,
        enrolment: Enrolment | None = None,
    ) -> None:
        """With an ``enrolment``, an executor proves its own key, and the token only to make that known."""
        self._last_good = ""
        self.use(addresses)
        self._timeout = timeout
        self._headers = {EXTENSIONS_HEADER: VERDICTS, "Content-Type": CONTENT_TYPE, "Accept-Encoding": "identity"}
        http = BoundedHttp(clock or SystemClock(), hosts=_HOSTS, connections=_CONNECTIONS, pool=pool, tls=tls)
        self._signer = signer
        self._http = SignedHttp(http, token, auth_headers(token, Dialect.AUTO, app_name), signer, enrolment=enrolment)
        self._wrapping: set[str] = set()
        """Coordinators that take results as the list of an object."""

    @property
    def address(self) -> str:
        """The coordinator that is asked first."""
        return self._last_good

    def use(self, addresses: Sequence[str], *, begin: bool = False) -> None:
        """From now on, these. ``begin`` with the first of them; else stay where it worked, if that is among them."""
        if not addresses:
            raise Invalid("An executor needs the address of at least one coordinator.", field="coordinators")
        known = tuple(checked_address(address) for address in addresses)
        if begin or self._last_good not in known:
            self._last_good = known[0]
        self._addresses = known

    def register(self, request: RegistryRequest) -> str | None:
        """Beat: tell one coordinator that this executor is here; the name of the work key it says it has."""
        return acknowledged(self._post("/api/registry", registry_body(request)).payload)

    def unregister(self, request: RegistryRequest) -> None:
        """Tell one coordinator that this executor leaves."""
        self._post("/api/registryRemove", registry_body(request))

    def call_back(self, items: Sequence[CallbackItem]) -> list[CallbackVerdict]:
        """Deliver results and say what became of each, in the order given.

        What does not fit into one request goes in several. When a later one fails its items come back as ``retry``;
        only when nothing at all was delivered is the failure raised: ``NotTaken`` when it was understood and refused,
        ``Unanswered`` when somebody is there and nothing is known.
        """
        verdicts: list[CallbackVerdict] = []
        for batch, body in _batches(items):
            try:
                verdicts += read_verdicts(self._post(_CALLBACK, body), batch)
            except Unavailable:
                if not verdicts:
                    raise
                left = items[len(verdicts) :]
                return verdicts + [CallbackVerdict(log_id=item.log_id, verdict=Verdict.RETRY) for item in left]
        return verdicts

    def tell_begun(self, report: BegunReport) -> frozenset[int]:
        """Tell of executions that run; those of which to tell again."""
        return read_begun_answer(self._post(BEGUN_PATH, report.to_bytes()))

    def open_offers(self, question: OpenOffersQuestion) -> OpenOffers:
        """Ask which offers of executions stand."""
        return read_open_offers(self._post(OPEN_OFFERS_PATH, question.to_bytes()))

    def ask(self, path: str, body: bytes, *, held_back: float = 0.0, repeatable: bool = True) -> Reply:
        """Ask any coordinator; its answer may be ``held_back`` for so many seconds. What is not ``repeatable`` is asked
        of the next one only if the one before surely did not get it.
        """
        return self._post(path, body, self._timeout + held_back, repeatable=repeatable)

    def close(self) -> None:
        self._http.close()

    def _post(self, path: str, body: bytes, timeout: float | None = None, *, repeatable: bool = True) -> Reply:
        failures = []
        not_known = answered = reached = False
        first = self._last_good
        others = [other for other in self._addresses if other != first]
        for address in (first, *others):
            try:
                status, reply, advice = self._exchange(address, path, body, timeout or self._timeout)
            except HTTPError as error:
                failures.append(network_sentence(address, error))
                reached |= not isinstance(error, _NOT_REACHED)
                if not repeatable and not isinstance(error, NewConnectionError):
                    self._last_good = others[0] if others else first  # the next question goes elsewhere
                    break
                continue
            if reply.ok:
                self._last_good = address
                return reply
            reached = True
            answered |= status not in _FOR_NOW
            not_known |= status in _NOT_KNOWN
            failures.append(f"{address}: {reply.msg or 'refused'} (code {reply.code}){advice}")
        failure = _failure(not_known=not_known, answered=answered, reached=reached)
        raise failure(f"No coordinator accepted {path}: {'; '.join(failures)}.")

    def _exchange(self, address: str, path: str, body: bytes, timeout: float) -> tuple[int, Reply, str]:
        """The status and the answer; after a refusal also what to do about it, if that is known."""
        wrapping = path == _CALLBACK and address in self._wrapping
        answer = self._asked(address, path, _wrapped(body) if wrapping else body, timeout)
        status, reply = _read(answer)
        if not answer.is_proved and (reply.ok or status in _NOT_KNOWN):
            raise NotProved(f"{_UNPROVED}{self._advice(address, answer)}")
        if reply.ok or status in _FOR_NOW:
            return status, reply, ""
        if RECEIVER_HEADER in answer.headers:
            return status, reply, "" if answer.is_proved else f" ({_UNPROVED}, so what it corrects is not believed)"
        if path == _CALLBACK:
            second = self._asked(address, path, body if wrapping else _wrapped(body), timeout)
            other_status, other = _read(second)
            if other.ok and second.is_proved:
                (self._wrapping.discard if wrapping else self._wrapping.add)(address)
                return other_status, other, ""
        return status, reply, self._advice(address, answer) if _refuses(answer) else ""

    def _advice(self, address: str, answer: Answer) -> str:
        """What to do about an answer by a peer that does not prove it, or does not say that it reads signatures."""
        if self._signer is None or self._signer.may_show_token(address):
            return ""
        if RECEIVER_HEADER in answer.headers:
            return (
                " (it was changed on the way, or the coordinator is of an earlier version: upgrade coordinators first)"
            )
        if self._signer.has_signed(address):
            return (
                " (it read signatures before and this answer does not say so: another process may have answered. The "
                "token is not shown to it. If an xxl-job admin has taken its place, remove its address from the file "
                f"{SIGNING_COORDINATORS_FILE} in executor.data_dir and restart the executor)"
            )
        return " (it does not sign; set executor.show_token = true if it is an xxl-job admin)"

    def _asked(self, address: str, path: str, body: bytes, timeout: float) -> Answer:
        return self._http.ask(
            "POST",
            address,
            path,
            headers=self._headers,
            timeout=timeout,
            body=body,
            connect=self._timeout,
            refuses=_refuses,
        )


def _failure(*, not_known: bool, answered: bool, reached: bool) -> type[Unavailable]:
    if not_known:
        return NotKnownThere
    return NotTaken if answered else Unanswered if reached else Unavailable


def _refuses(answer: Answer) -> bool:
    """Whether it may say that the token was wrong, or is missing. Coordinators of another make say so with HTTP 200, or
    with 400 if their framework wants the header to be there.
    """
    if answer.status == HTTPStatus.OK:
        return not read_reply(answer.status, answer.body).ok
    return answer.status in _NOT_LET_IN


def _read(answer: Answer) -> tuple[int, Reply]:
    return answer.status, read_reply(answer.status, answer.body)


def _wrapped(results: bytes) -> bytes:
    return b'{"callbackList":' + results + b"}"


def _batches(items: Sequence[CallbackItem]) -> Iterator[tuple[list[CallbackItem], bytes]]:
    batch: list[CallbackItem] = []
    written: list[bytes] = []
    size = 2
    for item in items:
        body = callback_item_body(item)
        if batch and size + len(body) > BATCH_LIMIT:
            yield batch, b"[" + b",".join(written) + b"]"
            batch, written, size = [], [], 2
        batch.append(item)
        written.append(body)
        size += len(body) + 1
    if batch:
        yield batch, b"[" + b",".join(written) + b"]"
