"""What an executor says to its coordinators.

Coordinators are equal, so the first that accepts a message is enough: the addresses are tried in turn, beginning with
the one that worked last. A call may be repeated without harm (a registration is a heartbeat, a result is stored once),
so a lost answer and a lost request are the same thing here: the next address is tried, and the caller comes back later.
The addresses may change while the executor runs (``use``): calls on their way end with the old ones.
"""

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from ssl import SSLContext
from typing import Protocol

import urllib3
from urllib3.exceptions import HTTPError, NewConnectionError

from orth.clock import Clock, SystemClock
from orth.errors import Invalid, Unavailable
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
from orth.wire.messages import (
    BODY_LIMIT,
    CallbackItem,
    CallbackVerdict,
    RegistryRequest,
    Reply,
    Verdict,
    checked_address,
)
from orth.wire.signatures import Signer
from orth.wire.signed_http import SignedHttp
from orth.wire.work_keys import acknowledged

BATCH_LIMIT = BODY_LIMIT - 64 * 1024
"""Bytes of results sent at once; the rest is room for whatever a proxy adds."""
_CONNECTIONS = 8
_HOSTS = 16


class CoordinatorLink(Protocol):
    """The way to the coordinators, as the executor's parts see it."""

    def register(self, request: RegistryRequest) -> str | None: ...

    def unregister(self, request: RegistryRequest) -> None: ...

    def call_back(self, items: Sequence[CallbackItem]) -> list[CallbackVerdict]: ...


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
    ) -> None:
        self._last_good = ""
        self.use(addresses)
        self._timeout = timeout
        self._headers = {EXTENSIONS_HEADER: VERDICTS, "Content-Type": CONTENT_TYPE, "Accept-Encoding": "identity"}
        http = BoundedHttp(clock or SystemClock(), hosts=_HOSTS, connections=_CONNECTIONS, pool=pool, tls=tls)
        self._http = SignedHttp(http, token, auth_headers(token, Dialect.AUTO, app_name), signer)

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
        only when nothing at all was delivered is the failure raised.
        """
        verdicts: list[CallbackVerdict] = []
        for batch, body in _batches(items):
            try:
                verdicts += read_verdicts(self._post("/api/callback", body), batch)
            except Unavailable:
                if not verdicts:
                    raise
                left = items[len(verdicts) :]
                return verdicts + [CallbackVerdict(log_id=item.log_id, verdict=Verdict.RETRY) for item in left]
        return verdicts

    def ask(self, path: str, body: bytes, *, held_back: float = 0.0, repeatable: bool = True) -> Reply:
        """Ask any coordinator; its answer may be ``held_back`` for so many seconds. What is not ``repeatable`` is asked
        of the next one only if the one before surely did not get it.
        """
        return self._post(path, body, self._timeout + held_back, repeatable=repeatable)

    def close(self) -> None:
        self._http.close()

    def _post(self, path: str, body: bytes, timeout: float | None = None, *, repeatable: bool = True) -> Reply:
        failures = []
        first = self._last_good
        others = [other for other in self._addresses if other != first]
        for address in (first, *others):
            try:
                reply = self._exchange(address, path, body, timeout or self._timeout)
            except HTTPError as error:
                failures.append(f"{address}: {error}")
                if not repeatable and not isinstance(error, NewConnectionError):
                    self._last_good = others[0] if others else first  # the next question goes elsewhere
                    break
                continue
            if reply.ok:
                self._last_good = address
                return reply
            failures.append(f"{address}: {reply.msg or 'refused'} (code {reply.code})")
        raise Unavailable(f"No coordinator accepted {path}: {'; '.join(failures)}.")

    def _exchange(self, address: str, path: str, body: bytes, timeout: float) -> Reply:
        answer = self._http.ask(
            "POST",
            address,
            path,
            headers=self._headers,
            timeout=timeout,
            body=body,
            connect=self._timeout,
            refuses=_refuses,
        )
        return read_reply(answer.status, answer.body)


def _refuses(answer: Answer) -> bool:
    """Whether it may say that the token was wrong. Coordinators of another make say so with HTTP 200."""
    if answer.status == HTTPStatus.OK:
        return not read_reply(answer.status, answer.body).ok
    return answer.status == HTTPStatus.UNAUTHORIZED


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
