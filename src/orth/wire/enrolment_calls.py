"""The executor's side of an enrolment: it gives its key to a coordinator that does not know it."""

import threading
from collections.abc import Callable
from typing import TypeVar

from pydantic import ValidationError

from orth.clock import Clock
from orth.errors import OrthError
from orth.wire.bounded_http import Answer
from orth.wire.dialects import read_reply
from orth.wire.enrolment import Enrolled, EnrolmentRequest, Exchange, Offered, Transcript, Wrapping, proof_of_offer
from orth.wire.messages import Message
from orth.wire.signatures import key_of

_DONE_FOR = 2.0
"""Seconds after an enrolment in which other threads, which were refused before it, do not repeat it."""
_UNPROVEN = b'{"code":401,"msg":"The coordinator did not prove the access token: its answer was changed on the way."}'

Ask = Callable[[bytes], Answer]
M = TypeVar("M", bound=Message)


class Enrolment:
    """Enrols one executor. Safe to share between threads."""

    def __init__(self, executor_key: str, token: str, app_name: str, address: str, clock: Clock) -> None:
        self.executor_key = executor_key
        self._token = key_of(token)
        self._app_name = app_name
        self._address = address
        self._clock = clock
        self._lock = threading.Lock()
        self._done: dict[str, float] = {}

    def at(self, coordinator: str, ask: Ask) -> Answer | None:
        """Give the key to a coordinator; the answer by which that failed, or ``None``."""
        with self._lock:
            if self._clock.monotonic() - self._done.get(coordinator, float("-inf")) < _DONE_FOR:
                return None
            failed = self._exchange(ask)
            if failed is None:
                self._done = {coordinator: self._clock.monotonic()}
            return failed

    def _exchange(self, ask: Ask) -> Answer | None:
        exchange = Exchange()
        request = EnrolmentRequest(registry_key=self._app_name, registry_value=self._address, public=exchange.public)
        answer = ask(_body(request))
        offered = _payload(answer, Offered)
        if offered is None:
            return answer
        said = Transcript(self._app_name, self._address, exchange.public, offered.public)
        if offered.proof != proof_of_offer(self._token, said):
            return Answer(401, _UNPROVEN, {})
        try:
            wrapping = Wrapping.of(exchange.shared(offered.public), self._token, said)
        except OrthError:
            return Answer(401, _UNPROVEN, {})
        answer = ask(_body(request.model_copy(update={"sealed": wrapping.sealed(self.executor_key)})))
        enrolled = _payload(answer, Enrolled)
        if enrolled is None:
            return answer
        proved = enrolled.proof == wrapping.proof_of_state(enrolled.state)
        return None if proved else Answer(401, _UNPROVEN, {})


def _body(request: EnrolmentRequest) -> bytes:
    return request.model_dump_json(by_alias=True, exclude_none=True).encode()


def _payload(answer: Answer, form: type[M]) -> M | None:
    reply = read_reply(answer.status, answer.body)
    try:
        return form.model_validate(reply.payload) if reply.ok else None
    except ValidationError:
        return None
