import socket
import threading
from collections.abc import Callable

import pytest

from orth.doctor.asking import NoAnswer, Silence, ask, bearer
from tests.doctor.places import serving


def silence_of(url: str) -> Silence:
    with pytest.raises(NoAnswer) as caught:
        ask(url)
    return caught.value.silence


def test_an_answer_is_what_came_back() -> None:
    with serving({"/a": {"b": 1}}, server="nginx") as place:
        answer = ask(f"{place.url}/a", headers=bearer("secret"))
        assert (answer.status, answer.json, answer.headers["Server"]) == (200, {"b": 1}, "nginx")
        assert place.heard[0][1]["Authorization"] == "Bearer secret"
        assert ask(f"{place.url}/nothing").status == 404
        assert ask(f"{place.url}/nothing").json is None
    assert bearer(None) == {}


def test_a_redirect_is_not_followed() -> None:
    with serving({"/a": 302}, headers={"Location": "/b"}) as place:
        assert ask(f"{place.url}/a").status == 302
        assert [path for path, _ in place.heard] == ["/a"]


def test_why_nobody_answers(free_port: int) -> None:
    assert silence_of(f"http://127.0.0.1:{free_port}") is Silence.REFUSED
    assert silence_of("http://no-such-host.invalid:5080") is Silence.NAME
    with serving({}) as place:
        assert silence_of(place.url.replace("http:", "https:")) is Silence.PLAIN
    assert silence_of("http://127.0.0.1:99999") is Silence.OTHER


def answering(then: Callable[[socket.socket], None]) -> tuple[str, threading.Thread]:
    """The address of somebody who takes one connection and does ``then``."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listening, listening.accept()[0] as line:
            then(line)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}", thread


def test_somebody_else_s_protocol() -> None:
    url, thread = answering(lambda line: line.sendall(b"220 mail.example.org ESMTP\r\n\r\n"))
    assert silence_of(url) is Silence.STRANGE
    thread.join(5)


def test_somebody_who_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orth.doctor.asking.PATIENCE", 0.2)
    done = threading.Event()
    url, thread = answering(lambda _line: done.wait(10) and None)
    assert silence_of(url) is Silence.TIMEOUT
    done.set()
    thread.join(5)
