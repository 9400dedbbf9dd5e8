"""Synchronous calls to coordinators that prove the token by a signature, and say whether the answer is proved. To a
coordinator that knows no signatures they show the token, if that is allowed. A process may have a better key than the
token; where nobody knows that one, the token has to do.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from orth.errors import Forbidden, Unauthenticated
from orth.wire.bounded_http import Answer, BoundedHttp
from orth.wire.enrolment import ENROLMENT_PATH
from orth.wire.enrolment_calls import Enrolment
from orth.wire.signatures import RECEIVER_HEADER, TRIES, Key, Signer, is_answer_proved, key_of


def _not_let_in(answer: Answer) -> bool:
    return answer.status == Unauthenticated.status


@dataclass(frozen=True, slots=True)
class _Question:
    """A request, but for what proves it."""

    method: str
    address: str
    path: str
    headers: Mapping[str, str]
    timeout: float
    body: bytes | None
    connect: float | None
    refuses: Callable[[Answer], bool]


def _enrols(question: _Question, body: bytes) -> _Question:
    return replace(question, method="POST", path=ENROLMENT_PATH, body=body, refuses=_not_let_in)


class SignedHttp:
    """Calls with one token. Safe to share between threads."""

    def __init__(
        self,
        http: BoundedHttp,
        token: str,
        shown: Mapping[str, str],
        signer: Signer | None,
        *,
        own_key: Key | None = None,
        enrolment: Enrolment | None = None,
    ) -> None:
        """``shown`` are the headers that show the token. Without a ``signer`` they always do. ``own_key`` is proved
        instead of the token where it is known. With an ``enrolment`` it is that of an executor, and the token only
        serves to make it known.
        """
        self._http = http
        self._token = token
        self._shown = shown
        self._signer = signer
        self._own_key = key_of(enrolment.executor_key) if enrolment is not None else own_key
        self._enrolment = enrolment
        self._unknown_at: set[str] = set()
        """Where the own key is not known."""

    def ask(
        self,
        method: str,
        address: str,
        path: str,
        *,
        headers: Mapping[str, str],
        timeout: float,
        body: bytes | None = None,
        connect: float | None = None,
        refuses: Callable[[Answer], bool] = _not_let_in,
    ) -> Answer:
        """The answer of whoever is at ``address``. One that ``refuses`` and tells what to do better is none yet."""

        question = _Question(method, address, path, headers, timeout, body, connect, refuses)
        if self._own_key is None or address in self._unknown_at:
            answer = self._asked(question, self._token)
            if answer.status == Forbidden.status:  # the token may be too little for one that knows better by now
                self._unknown_at.discard(address)
            return answer
        answer = self._asked(question, self._own_key)
        if _not_let_in(answer) and RECEIVER_HEADER in answer.headers:
            if self._enrolment is not None:
                refusal = self._enrolment.at(address, lambda body: self._asked(_enrols(question, body), self._token))
                return self._asked(question, self._own_key) if refusal is None else refusal
            self._unknown_at.add(address)
            return self._asked(question, self._token)
        return answer

    def _asked(self, asked: "_Question", key: str | Key) -> Answer:
        signer, address, body = self._signer, asked.address, asked.body
        for _again in range(TRIES):
            plain = signer is None or signer.speaks_plainly(address)
            proof = self._shown
            if signer is not None and not plain:
                proof = signer.header(key, address, asked.method, asked.path, body or b"")
            answer = self._http.ask(
                asked.method,
                address + asked.path,
                headers={**asked.headers, **proof},
                timeout=asked.timeout,
                body=body,
                connect=asked.connect,
            )
            if signer is None:
                return answer._replace(is_proved=True)
            proved = is_answer_proved(proof, answer.status, answer.body, answer.headers, key)
            # To coordinators of another make the token may be shown, and they prove nothing.
            answer = answer._replace(is_proved=proved or signer.may_show_token(address))
            signer.met(address, answer.headers)
            # Ours say with the status that we are not let in; only of others the answer has to be read for it.
            refused = _not_let_in(answer) if RECEIVER_HEADER in answer.headers else asked.refuses(answer)
            if not signer.learns(address, proof, refused, answer.headers, key):
                break
        return answer

    def close(self) -> None:
        self._http.close()
