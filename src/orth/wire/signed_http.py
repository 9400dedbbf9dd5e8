"""Synchronous calls to coordinators that prove the token, by a signature or, to one that knows no signatures, by
showing it.
"""

from collections.abc import Callable, Mapping

from orth.errors import Unauthenticated
from orth.wire.bounded_http import Answer, BoundedHttp
from orth.wire.signatures import RECEIVER_HEADER, TRIES, Signer


def _not_let_in(answer: Answer) -> bool:
    return answer.status == Unauthenticated.status


class SignedHttp:
    """Calls with one token. Safe to share between threads."""

    def __init__(self, http: BoundedHttp, token: str, shown: Mapping[str, str], signer: Signer | None) -> None:
        """``shown`` are the headers that show the token. Without a ``signer`` they always do."""
        self._http = http
        self._token = token
        self._shown = shown
        self._signer = signer

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
        signer = self._signer
        for _again in range(TRIES):
            plain = signer is None or signer.speaks_plainly(address)
            proof = self._shown
            if signer is not None and not plain:
                proof = signer.header(self._token, address, method, path, body or b"")
            answer = self._http.ask(
                method,
                address + path,
                headers={**headers, **proof},
                timeout=timeout,
                body=body,
                connect=connect,
            )
            if signer is None:
                break
            # Ours say with the status that we are not let in; only of others the answer has to be read for it.
            refused = _not_let_in(answer) if RECEIVER_HEADER in answer.headers else refuses(answer)
            if not signer.learns(address, proof, refused, answer.headers):
                break
        if signer is not None and plain:
            signer.met(address, answer.headers)
        return answer

    def close(self) -> None:
        self._http.close()
