"""Calls to coordinators of three ages: one that reads signatures, one that does not, one of another make."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from orth.clock import SystemClock
from orth.errors import Unavailable
from orth.testing import ManualClock
from orth.wire.bounded_http import Answer, BoundedHttp
from orth.wire.coordinator_calls import CoordinatorCalls, Unanswered
from orth.wire.coordinator_keys import coordinator_key
from orth.wire.messages import RegistryRequest
from orth.wire.signatures import (
    PROOF_HEADER,
    RECEIVER_HEADER,
    SIGNATURE_HEADER,
    BadSignature,
    Key,
    Signer,
    Verifier,
    key_of,
    signature_from,
)
from orth.wire.signed_http import SignedHttp

TOKEN = "token-of-the-cluster"
BEAT = RegistryRequest(registry_key="demo", registry_value="http://10.0.0.1:9999")


class Peer:
    """A coordinator. ``asked`` is how each request proved itself."""

    def __init__(self, *, signatures: bool, refusal: int = 401, knows: Key | None = None) -> None:
        self.knows = knows
        """A key that it accepts beside the token, and needs."""
        self.verifier = Verifier("process-a", SystemClock()) if signatures else None
        self.refusal = refusal
        self.asked: list[str] = []
        self.busy = False
        self.proves = True
        peer = self

        class Door(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = dict(self.headers.items())
                status, told = peer.judged(self.path, headers, body)
                good = status == 200 and "refused" not in told
                answer = json.dumps({"code": 200 if good else 500, "msg": None}).encode()
                told.pop("refused", None)
                told |= peer.proof(headers, status, answer) if PROOF_HEADER not in told else {}
                self.send_response_only(status)
                for name, value in {**told, "Content-Length": str(len(answer))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def proof(self, headers: dict[str, str], status: int, answer: bytes) -> dict[str, str]:
        signed = signature_from(headers)
        if signed is None or self.verifier is None or status == 401 or not self.proves:
            return {}
        key = key_of(TOKEN) if signed.key_id == key_of(TOKEN).id else self.knows
        return {} if key is None else self.verifier.proof(signed, key, status, answer)

    def judged(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str]]:
        if self.busy:
            return 503, {}
        signed = signature_from(headers)
        if signed is not None and self.verifier is not None:
            with_token = signed.key_id == key_of(TOKEN).id
            self.asked.append("signed" if with_token else "own key")
            key = key_of(TOKEN) if with_token else self.knows
            try:
                self.verifier.check(signed, key, "POST", path)
                self.verifier.admit(signed, body, key)
            except BadSignature as bad:
                return 401, self.verifier.correction(bad.signed, bad.key)
            return 403 if with_token and self.knows else 200, {RECEIVER_HEADER: self.verifier.receiver}
        self.asked.append("token" if headers.get("ORTH-ACCESS-TOKEN") == TOKEN else "nothing")
        told = {} if self.verifier is None else {RECEIVER_HEADER: self.verifier.receiver}
        return (200, told) if self.asked[-1] == "token" else (self.refusal, {"refused": ""})


@contextmanager
def served(peer: Peer) -> Iterator[Peer]:
    thread = threading.Thread(target=peer.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield peer
    finally:
        peer.server.shutdown()
        thread.join()
        peer.server.server_close()


def calls(peer: Peer, signer: Signer) -> CoordinatorCalls:
    return CoordinatorCalls([peer.url], TOKEN, 5.0, signer=signer)


def test_one_that_reads_signatures_is_never_shown_the_token() -> None:
    with served(Peer(signatures=True)) as peer:
        link = calls(peer, Signer("executor", SystemClock()))
        for _ in range(3):
            link.register(BEAT)
        assert peer.asked == ["signed"] * 4, "the first asks twice: it did not know which process is there"
        peer.verifier = Verifier("process-b", SystemClock())
        link.register(BEAT)
        assert peer.asked == ["signed"] * 6


def test_a_clock_that_is_wrong_is_corrected() -> None:
    with served(Peer(signatures=True)) as peer:
        link = calls(peer, Signer("executor", ManualClock()))
        link.register(BEAT)
        link.register(BEAT)
        assert peer.asked == ["signed"] * 3


@pytest.mark.parametrize("refusal", [401, 200])
def test_one_that_does_not_is_shown_the_token_until_it_does(refusal: int) -> None:
    """Where that is allowed. Those of another make say with HTTP 200 that a token is wrong."""
    with served(Peer(signatures=False, refusal=refusal)) as peer:
        link = calls(peer, Signer("executor", SystemClock(), shows_token=True))
        link.register(BEAT)
        link.register(BEAT)
        assert peer.asked == ["nothing", "token", "token"]
        peer.verifier = Verifier("upgraded", SystemClock())
        link.register(BEAT)
        link.register(BEAT)
        assert peer.asked[3:] == ["token", "signed", "signed"]
        peer.verifier = None
        with pytest.raises(Unavailable, match="another process may have answered"):
            link.register(BEAT)
        assert set(peer.asked[6:]) == {"nothing"}, "one that signed once is never shown the token again"


@pytest.mark.parametrize("refusal", [401, 200])
def test_the_token_is_not_shown_unless_that_is_allowed(refusal: int) -> None:
    with served(Peer(signatures=False, refusal=refusal)) as peer:
        link = calls(peer, Signer("executor", SystemClock()))
        for _ in range(2):
            with pytest.raises(Unavailable, match=r"set executor\.show_token = true if it is an xxl-job admin"):
                link.register(BEAT)
        assert peer.asked == ["nothing", "nothing"]


def test_one_that_is_busy_is_not_shown_the_token_for_that() -> None:
    with served(Peer(signatures=True)) as peer:
        link = calls(peer, Signer("executor", SystemClock()))
        peer.busy = True
        with pytest.raises(Unavailable):
            link.register(BEAT)
        peer.busy = False
        link.register(BEAT)
        assert set(peer.asked) == {"signed"}


@pytest.mark.parametrize("shows", [False, True])
def test_an_answer_that_is_not_proved_is_none(shows: bool) -> None:
    """A88: it may be of an earlier question, or somebody else's. Who once read signatures has to prove its answers."""
    with served(Peer(signatures=True)) as peer:
        link = calls(peer, Signer("executor", SystemClock(), shows_token=shows))
        link.register(BEAT)
        peer.proves = False
        for _ in range(2):
            with pytest.raises(Unanswered, match="nothing proves that this answer is a coordinator's"):
                link.register(BEAT)
        peer.proves = True
        link.register(BEAT)


def test_without_a_signer_the_token_is_shown() -> None:
    with served(Peer(signatures=True)) as peer:
        CoordinatorCalls([peer.url], TOKEN, 5.0).register(BEAT)
        assert peer.asked == ["token"]
        assert SIGNATURE_HEADER not in peer.asked


# --- those who have more than the token


class Own:
    """A process with a key of its own."""

    key = coordinator_key("what the coordinators of a database share")

    def __init__(self, peer: Peer) -> None:
        http = BoundedHttp(SystemClock(), hosts=1, connections=1)
        shown = {"ORTH-ACCESS-TOKEN": TOKEN}
        self._peer = peer
        self._http = SignedHttp(http, TOKEN, shown, Signer("node", SystemClock()), own_key=self.key)

    def ask(self) -> int:
        answer: Answer = self._http.ask("POST", self._peer.url, "/x", headers={}, timeout=5, body=b"{}")
        return answer.status


def test_a_better_key_is_proved_where_it_is_known() -> None:
    with served(Peer(signatures=True, knows=Own.key)) as peer:
        own = Own(peer)
        assert [own.ask(), own.ask()] == [200, 200]
        assert peer.asked == ["own key"] * 3


def test_where_it_is_not_known_the_token_has_to_do_until_it_is() -> None:
    with served(Peer(signatures=True)) as peer:
        own = Own(peer)
        assert [own.ask(), own.ask()] == [200, 200]
        assert peer.asked[-2:] == ["signed", "signed"]
        peer.knows = Own.key  # it was upgraded, and the token is not enough any more
        assert [own.ask(), own.ask()] == [403, 200]
        assert peer.asked[-1] == "own key"


def test_a_registry_that_knows_no_signatures_is_not_shown_the_token_of_the_coordinators() -> None:
    with served(Peer(signatures=False)) as peer:
        own = Own(peer)
        assert [own.ask(), own.ask()] == [401, 401]
        assert set(peer.asked) == {"nothing"}


def test_keys_of_two_databases_differ() -> None:
    assert coordinator_key("one") != coordinator_key("two")
    assert coordinator_key("one").id not in coordinator_key("one").secret.hex()
