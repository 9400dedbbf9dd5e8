"""The live socket, over real sockets: who may listen, what is told, and what becomes of those who do not read."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from orth.coordinator.http import live_socket
from orth.coordinator.services.facts import Drop, ListenerDropped
from orth.loop import run_loops
from orth.settings import Settings
from orth.settings.sections import ConsoleSection, RegistrySection
from orth.store.users import set_password, set_role
from orth.testing import Recorder
from tests.coordinator.http.live import ACCESS_TOKEN, Caller, Site
from tests.coordinator.http.test_log_streams import time_passing
from tests.servers.processes import wait_until

AGENTS = "/api/agents"
WITHIN = 10.0


class LiveSite(Site):
    """A coordinator whose feed turns."""

    def __enter__(self) -> "LiveSite":
        super().__enter__()
        self.recorder = Recorder()
        tools = self.app.state.tools
        tools.events.listen(self.recorder)
        self._over = threading.Event()
        self._turning = threading.Thread(target=self._turn, daemon=True)
        self._turning.start()
        return self

    def _turn(self) -> None:
        """Time passes as it does, for the loops and the checks of this coordinator."""
        while not self._over.wait(0.05):
            self.clock.move(0.05)

    def __exit__(self, *nothing: object) -> None:
        self._over.set()
        self._turning.join()
        super().__exit__(*nothing)

    async def _serve_here(self) -> None:
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(super()._serve_here())
            await asyncio.to_thread(self._started.wait)
            feed = self.app.state.tools.feed
            group.create_task(run_loops(feed))
            await asyncio.wait([serving])
            feed.stop()

    def service(self) -> Caller:
        return Caller(self.url, {"ORTH-ACCESS-TOKEN": ACCESS_TOKEN})

    def token(self) -> str:
        return self.access_token()

    def drops(self) -> list[Drop]:
        return [one.cause for one in self.recorder.all(ListenerDropped)]


SETTINGS = Settings(
    registry=RegistrySection(socket_queue=50, events_kept=100, socket_clients=20, socket_clients_each=15),
    console=ConsoleSection(origins=("https://orth.example",), base_url="https://console.example"),
)


@pytest.fixture
def live(prepared: Path, tmp_path: Path) -> Iterator[LiveSite]:
    (tmp_path / "orth.db").write_bytes(prepared.read_bytes())
    with LiveSite(tmp_path / "orth.db", SETTINGS) as site:
        yield site
        wait_until(lambda: site.app.state.tools.feed.listeners == 0, "every listener to be let go", WITHIN)


@contextmanager
def listening(
    site: LiveSite, query: str = "", token: str | None = ACCESS_TOKEN, **more: Any
) -> Iterator[ClientConnection]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    headers |= more.pop("headers", {})
    with connect(
        f"ws://127.0.0.1:{site.port}/ws{query}", additional_headers=headers, close_timeout=1, proxy=None, **more
    ) as line:
        yield line


def heard(line: ClientConnection) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line.recv(timeout=WITHIN))
    return found


def closed(line: ClientConnection) -> tuple[int, str]:
    """How the other side closed it, after whatever it had still to say."""
    over: ConnectionClosed | None = None
    while over is None:
        try:
            line.recv(timeout=WITHIN)
        except ConnectionClosed as error:
            over = error
    assert over.rcvd is not None
    return over.rcvd.code, over.rcvd.reason


def refusal(opening: Callable[[], Any]) -> int:
    with pytest.raises(InvalidStatus) as refused, ExitStack() as stack:
        stack.enter_context(opening())
    status: int = refused.value.response.status_code
    return status


def register(site: LiveSite, number: int = 1, **said: object) -> str:
    answer = site.service().post(f"{AGENTS}/register", {"url": f"http://10.0.0.1:{number}", **said})
    assert answer.status == 200, answer.body
    found: str = answer.json["id"]
    return found


def report(site: LiveSite, service_id: str, status: str) -> None:
    assert site.service().post(f"{AGENTS}/{service_id}/status", {"status": status}).status == 200


# --- what is told


def test_the_events_of_a_life_and_none_for_beats(live: LiveSite) -> None:
    with listening(live) as line:
        wait_until(lambda: live.app.state.tools.feed.listeners == 1, "the listener to be there", WITHIN)
        service_id = register(live, orchestratorId="abc")
        live.service().post(f"{AGENTS}/{service_id}/heartbeat")
        report(live, service_id, "idle")
        report(live, service_id, "idle")
        live.service().post(f"{AGENTS}/{service_id}/unregister")
        got = [heard(line) for _ in range(3)]
    assert [one["type"] for one in got] == ["agent_registered", "agent_status_changed", "agent_unregistered"]
    assert [one["seq"] for one in got] == [1, 2, 3]
    assert all(set(one) == {"type", "data", "seq", "at"} for one in got)
    assert [one["data"]["status"] for one in got] == ["Starting", "Idle", "Idle"]
    assert got[0]["data"]["orchestratorId"] == "abc"
    assert got[0]["at"] == got[0]["data"]["registeredAt"]


def test_who_comes_back_gets_what_it_missed(live: LiveSite) -> None:
    service_id = register(live)
    for status in ("idle", "busy", "idle"):
        report(live, service_id, status)
    with listening(live, "?since=1") as line:
        assert [heard(line)["seq"] for _ in range(3)] == [2, 3, 4]
        report(live, service_id, "busy")
        assert heard(line)["seq"] == 5
    with listening(live, "?since=5") as line, listening(live, "?since=3") as other:
        assert [heard(other)["seq"] for _ in range(2)] == [4, 5]
        report(live, service_id, "idle")
        assert (heard(line)["seq"], heard(other)["seq"]) == (6, 6)


def test_many_missed_events_come_in_their_order(live: LiveSite) -> None:
    service_id = register(live)
    for number in range(90):
        report(live, service_id, ("busy", "idle")[number % 2])
    with listening(live, "?since=0") as line, listening(live) as awake:
        assert [heard(line)["seq"] for _ in range(91)] == list(range(1, 92))
        report(live, service_id, "busy")
        assert (heard(line)["seq"], heard(awake)["seq"]) == (92, 92)


def test_a_snapshot_on_request(live: LiveSite) -> None:
    agent = register(live)
    live.admin().post("/api/orchestrators/register", {"url": "http://10.0.0.9:1"})
    with listening(live) as line:
        line.send('{"type":"snapshot"}')
        snapshot = heard(line)
        assert (snapshot["type"], snapshot["seq"]) == ("snapshot", 2)
        assert [one["url"] for one in snapshot["data"]["orchestrators"]] == ["http://10.0.0.9:1"]
        assert [one["id"] for one in snapshot["data"]["agents"]] == [agent]
        report(live, agent, "idle")
        assert heard(line)["seq"] == 3


@pytest.mark.parametrize("since", [0, 1, 10_000])
def test_who_was_away_for_too_long_gets_a_snapshot(live: LiveSite, since: int) -> None:
    with live.db.engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO orth_service_head (id, seq) VALUES (1, 500)")
    agent = register(live)
    with listening(live, f"?since={since}") as line:
        snapshot = heard(line)
        assert (snapshot["type"], snapshot["seq"]) == ("snapshot", 501)
        report(live, agent, "idle")
        assert heard(line)["seq"] == 502


def test_a_snapshot_is_of_after_it_was_asked_for(live: LiveSite) -> None:
    agent = register(live)
    with listening(live) as line:
        for number in range(2, 20):
            report(live, agent, ("idle", "busy")[number % 2])
            line.send('{"type":"snapshot"}')
            got = [heard(line)]
            while got[-1]["type"] != "snapshot":
                got.append(heard(line))
            assert got[-1]["seq"] == number
            assert got[-1]["data"]["agents"][0]["status"] == ("Idle", "Busy")[number % 2]
            assert len(got) <= 2


def test_a_request_that_asks_for_no_socket(live: LiveSite) -> None:
    assert "ws://" in live.service().get("/ws").problem(400)["hint"]
    assert refusal(lambda: listening(live, "?since=yesterday")) == 422
    assert refusal(lambda: listening(live, "?since=-1")) == 422


# --- who may listen


def test_a_session_in_the_header_or_as_a_subprotocol(live: LiveSite) -> None:
    with listening(live, token=live.token()) as line:
        register(live, 1)
        assert heard(line)["seq"] == 1
    for offered, agreed in (
        (["orth", f"orth.bearer.{live.token()}"], "orth"),
        ([f"orth.bearer.{(token := live.token())}"], f"orth.bearer.{token}"),
    ):
        with listening(live, "?since=0", token=None, subprotocols=[Subprotocol(one) for one in offered]) as line:
            assert line.subprotocol == agreed
            assert heard(line)["seq"] == 1


def test_a_session_in_the_first_message(live: LiveSite) -> None:
    register(live)
    for token in (live.token(), ACCESS_TOKEN):
        with listening(live, "?since=0", token=None) as line:
            line.send(json.dumps({"type": "auth", "token": token}))
            assert heard(line)["seq"] == 1


@pytest.mark.parametrize("query", ["?token={}", "?access_token={}", "?since=0&token={}"])
def test_a_token_in_the_address_is_refused_however_good(live: LiveSite, query: str) -> None:
    assert refusal(lambda: listening(live, query.format(live.token()), token=None)) == 400
    assert refusal(lambda: listening(live, query.format("x"), token=live.token())) == 400


@pytest.mark.parametrize("token", ["wrong", "a.b.c"])
def test_a_credential_that_is_none(live: LiveSite, token: str) -> None:
    assert refusal(lambda: listening(live, token=token)) == 401
    offered = [Subprotocol("orth"), Subprotocol(f"orth.bearer.{token}")]
    assert refusal(lambda: listening(live, token=None, subprotocols=offered)) == 401
    with listening(live, token=None) as line:
        line.send(json.dumps({"type": "auth", "token": token}))
        assert closed(line)[0] == 4401


@pytest.mark.parametrize(
    "message", ['{"type":"snapshot"}', "no json", "[]", '{"type":"auth"}', '{"type":"auth","token":7}']
)
def test_a_first_message_that_is_no_introduction(live: LiveSite, message: str) -> None:
    register(live)
    with listening(live, "?since=0", token=None) as line:
        line.send(message)
        assert closed(line)[0] in (4401, 1008)


def test_who_does_not_introduce_itself_is_let_go(live: LiveSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_socket, "AUTH_WITHIN", 0.2)
    register(live)
    with listening(live, "?since=0", token=None) as line:
        assert closed(line)[0] == 4401


def test_a_socket_ends_with_its_session(live: LiveSite) -> None:
    with listening(live, token=live.token()) as line, listening(live) as other:
        live.clock.move(3601)
        assert closed(line) == (4401, "The session has expired.")
        register(live)
        assert heard(other)["seq"] == 1, "the access token does not expire"
    assert live.drops() == [Drop.SESSION]


def test_a_session_can_be_renewed(live: LiveSite) -> None:
    with listening(live, token=live.token()) as line:
        live.clock.move(3000)
        line.send(json.dumps({"type": "auth", "token": live.token()}))
        line.send('{"type":"snapshot"}')
        assert heard(line)["type"] == "snapshot", "so the new one was read"
        live.clock.move(1000)
        register(live)
        assert heard(line)["seq"] == 1


def test_a_new_password_ends_the_sockets_of_the_old_one(live: LiveSite) -> None:
    with listening(live, token=live.token()) as line:
        wait_until(lambda: live.app.state.tools.feed.listeners == 1, "the listener to be there", WITHIN)
        live.tx(set_password, "admin", "another hash", live.clock.now())
        with time_passing(live, step=5):
            assert closed(line)[0] == 4401


def test_a_socket_ends_soon_after_its_api_token_was_revoked(live: LiveSite) -> None:
    made = live.admin().post("/api/v1/tokens", {"kind": "api", "name": "robot", "role": "viewer"}).json
    with listening(live, token=made["token"]) as line:
        wait_until(lambda: live.app.state.tools.feed.listeners == 1, "the listener to be there", WITHIN)
        assert live.admin().call("DELETE", f"/api/v1/tokens/{made['id']}").status == 204
        revoked_at = live.clock.now()
        with time_passing(live):
            assert closed(line)[0] == 4401
        assert live.clock.now() - revoked_at <= 10_000


def test_who_may_not_see_everything_does_not_listen(live: LiveSite) -> None:
    group = live.group()
    grants = [{"group_id": group, "role": "admin"}]
    live.admin().post("/api/v1/users", {"username": "ada", "password": "a long password", "grants": grants})
    token = live.access_token("ada")
    assert refusal(lambda: listening(live, token=token)) == 403
    with listening(live, token=None) as line:
        line.send(json.dumps({"type": "auth", "token": token}))
        assert closed(line)[0] == 4403


def test_a_socket_ends_when_its_listener_may_not_see_everything_any_more(live: LiveSite) -> None:
    made = {"username": "ada", "password": "a long password", "role": "viewer"}
    user_id = live.admin().post("/api/v1/users", made).json["id"]
    with listening(live, token=live.access_token("ada")) as line:
        wait_until(lambda: live.app.state.tools.feed.listeners == 1, "the listener to be there", WITHIN)
        live.tx(set_role, user_id, None, live.clock.now())
        with time_passing(live, step=5):
            assert closed(line)[0] == 4403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://[", "http://orth.example", ""])
def test_pages_of_other_sites_are_refused(live: LiveSite, origin: str, caplog: pytest.LogCaptureFixture) -> None:
    assert refusal(lambda: listening(live, origin=Origin(origin))) == 403
    assert [record.message for record in caplog.records if record.name.startswith("uvicorn")] == []


def test_pages_of_our_own_and_of_named_sites_may_listen(live: LiveSite) -> None:
    register(live)
    for origin in (live.url, "https://orth.example", "https://console.example"):
        with listening(live, "?since=0", origin=Origin(origin)) as line:
            assert heard(line)["seq"] == 1


# --- bounds


def test_there_is_room_for_so_many(live: LiveSite) -> None:
    with ExitStack() as stack:
        lines = [stack.enter_context(listening(live)) for _ in range(20)]
        assert refusal(lambda: listening(live)) == 429
        lines[0].close()
        wait_until(lambda: live.app.state.tools.feed.listeners == 19, "one to have left", WITHIN)
        stack.enter_context(listening(live))


def test_there_is_room_for_fewer_who_do_not_say_who_they_are(live: LiveSite) -> None:
    with ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(listening(live, token=None))
        assert refusal(lambda: listening(live, token=None)) == 429
        stack.enter_context(listening(live))


def test_nobody_takes_the_places_of_others(live: LiveSite) -> None:
    admin = live.admin()
    body = {"username": "greedy", "password": "the password of greedy", "role": "viewer"}
    assert admin.post("/api/v1/users", body).status == 201
    signed_in = admin.post("/api/v1/auth/login", {"username": "greedy", "password": body["password"]})
    greedy = signed_in.json["access_token"]
    headers = {"Authorization": f"Bearer {greedy}"}
    changes = f"ws://127.0.0.1:{live.port}/api/v1/changes"
    with ExitStack() as stack:
        lines = [stack.enter_context(listening(live, token=greedy)) for _ in range(14)]
        stack.enter_context(connect(changes, additional_headers=headers, proxy=None))
        with pytest.raises(InvalidStatus) as refused, connect(changes, additional_headers=headers, proxy=None):
            pass
        answer = refused.value.response
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "5")
        assert refusal(lambda: listening(live, token=greedy)) == 429
        with listening(live, token=None) as late:
            late.send(json.dumps({"type": "auth", "token": greedy}))
            assert closed(late)[0] == 1013, "nor does it help to say later who one is"
        with listening(live, token=live.token()), listening(live):
            pass
        lines[0].close()
        wait_until(lambda: live.app.state.tools.feed.listeners == 13, "one to have left", WITHIN)
        stack.enter_context(listening(live, token=greedy))


def test_what_is_not_understood_ends_it(live: LiveSite) -> None:
    for message in ("{}", '{"type":"subscribe"}', "nonsense", "[1]"):
        with listening(live) as line:
            line.send(message)
            assert closed(line)[0] == 1008
    with listening(live) as line:
        line.send("x" * 100_000)
        assert closed(line)[0] == 1009


def test_who_does_not_read_is_let_go_and_delays_nobody(live: LiveSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_socket, "STALLED_AFTER", 0.5)
    live._listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    with socket.socket() as narrow:
        narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        narrow.connect(("127.0.0.1", live.port))
        with listening(live, sock=narrow, max_queue=1) as slow, listening(live) as quick:
            service_id = register(live, name="x" * 64)
            assert heard(quick)["seq"] == 1
            for number in range(600):
                report(live, service_id, ("busy", "idle")[number % 2])
                assert heard(quick)["seq"] == number + 2
                if live.drops():
                    break
            wait_until(lambda: live.drops() == [Drop.SLOW], "the slow one to be let go", WITHIN)
            report(live, service_id, "stopping")
            assert heard(quick)["data"]["status"] == "Stopping"
            code, reason = closed(slow)
            assert code == 1013
            assert "slow" in reason
