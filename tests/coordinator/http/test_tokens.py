"""Tokens of programs and of executors over HTTP: made, shown once, used, rotated, revoked; and what they never open."""

import json
import shutil
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from orth.domain.tokens import API_PREFIX, EXECUTOR_PREFIX
from orth.settings import Settings
from orth.settings.sections import SecuritySection
from orth.wire.signatures import Signer
from tests.coordinator.http.enrolled import EnrolledCaller
from tests.coordinator.http.live import ACCESS_TOKEN, Answer, Caller, Site
from tests.coordinator.http.rights_site import RightsSite

DAY = 86_400
TOKENS = "/api/v1/tokens"


def made(site: Site, **body: Any) -> dict[str, Any]:
    answer = site.admin().post(TOKENS, {"name": "ci", "role": "viewer", **body})
    assert answer.status == 201, answer.body
    found: dict[str, Any] = answer.json
    return found


def of_group(site: Site, *app_names: str) -> dict[str, Any]:
    body = {"kind": "executor", "name": f"of {app_names[0]}", "app_names": app_names}
    answer = site.admin().post(TOKENS, body)
    assert answer.status == 201, answer.body
    found: dict[str, Any] = answer.json
    return found


def machine(site: Site, token: str) -> Caller:
    return Caller(site.url, {"ORTH-ACCESS-TOKEN": token})


def beat(app_name: str, address: str = "http://10.0.0.1:9999") -> dict[str, str]:
    return {"registryGroup": "EXECUTOR", "registryKey": app_name, "registryValue": address}


# --- API tokens


def test_a_token_is_shown_once_and_stored_hashed(site: Site) -> None:
    token = made(site)
    text = token.pop("token")
    assert text.startswith(API_PREFIX)
    assert text not in str(site.contents())
    listed = site.admin().get(TOKENS)
    assert text.encode() not in listed.body
    assert listed.json["items"] == [token]
    assert site.admin().get(f"{TOKENS}/{token['id']}").json == token
    assert text.startswith(token["secrets"][0]["shown"])
    assert token["expires_at"] == site.clock.now() + 90 * DAY * 1000


def test_a_program_may_what_its_token_may(site: Site) -> None:
    group, other = site.group("demo"), site.group("other")
    program = site.bearer(made(site, role=None, group_roles={str(group): "operator"})["token"])
    assert [one["app_name"] for one in program.get("/api/v1/groups").json["items"]] == ["demo"]
    program.get(f"/api/v1/groups/{other}").problem(404)
    program.post("/api/v1/groups", {"app_name": "mine"}).problem(403)
    program.post(TOKENS, {"name": "more", "role": "admin"}).problem(403)


def test_changes_by_a_token_are_audited_under_its_name(site: Site) -> None:
    program = site.bearer(made(site, role="admin")["token"])
    assert program.post("/api/v1/groups", {"app_name": "made-by-program"}).status == 201
    entries = site.admin().get("/api/v1/audit").json["items"]
    assert any((one["actor_kind"], one["actor"]) == ("token", "token:ci") for one in entries), entries


def test_use_is_noted_once_a_minute(site: Site) -> None:
    token = made(site)
    program = site.bearer(token["token"])
    times = []
    for pause in (0, 30, 31):
        site.clock.jump(pause)
        assert program.get("/api/v1/groups").status == 200
        times.append(site.admin().get(f"{TOKENS}/{token['id']}").json["last_used_at"])
    assert times[0] == times[1] == times[2] - 61_000


@pytest.mark.parametrize("how", ["expired", "revoked", "other", "cut", "long", "executor"])
def test_a_token_that_is_not_good_is_refused(site: Site, how: str) -> None:
    """A02: each with the same answer."""
    token = made(site, expires_in_days=1)
    text = token["token"]
    if how == "expired":
        site.clock.jump(DAY)
    elif how == "revoked":
        assert site.admin().call("DELETE", f"{TOKENS}/{token['id']}").status == 204
    text = {
        "other": API_PREFIX + "x" * 43,
        "cut": text[:-1],
        "long": text + "x" * 500,
        "executor": of_group(site, "demo")["token"],
    }.get(how, text)
    site.bearer(text).get("/api/v1/groups").problem(401)


@pytest.mark.parametrize("name", ["token", "access_token", "api_key"])
def test_a_token_in_an_address_is_refused(site: Site, name: str) -> None:
    """A18."""
    text = made(site)["token"]
    site.stranger().get(f"/api/v1/groups?{name}={text}").problem(401)
    site.bearer(text).get(f"/api/v1/groups?{name}={text}").problem(401)


def test_two_secrets_are_good_while_it_is_rotated(site: Site) -> None:
    token = made(site)
    rotated = site.admin().post(f"{TOKENS}/{token['id']}/rotate", {"overlap": 600}).json
    assert rotated["id"] == token["id"]
    old, new = site.bearer(token["token"]), site.bearer(rotated["token"])
    assert (old.get("/api/v1/groups").status, new.get("/api/v1/groups").status) == (200, 200)
    site.clock.jump(600)
    assert (old.get("/api/v1/groups").status, new.get("/api/v1/groups").status) == (401, 200)
    third = site.admin().post(f"{TOKENS}/{token['id']}/rotate", {"overlap": 0}).json["token"]
    assert (new.get("/api/v1/groups").status, site.bearer(third).get("/api/v1/groups").status) == (401, 200)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "x"},
        {"name": "x", "role": "owner"},
        {"name": "", "role": "viewer"},
        {"name": "x", "role": "viewer", "app_names": ["demo"]},
        {"name": "x", "kind": "executor"},
        {"name": "x", "kind": "executor", "app_names": ["demo"], "role": "viewer"},
        {"name": "x", "kind": "executor", "app_names": ["a b"]},
        {"name": "x", "role": "viewer", "expires_in_days": 0},
        {"name": "x", "role": "viewer", "expires_in_days": 366},
        {"name": "x", "role": "viewer", "created_by": "root"},
        {"name": "x", "group_roles": {"0": "viewer"}},
    ],
)
def test_what_is_no_token(site: Site, body: dict[str, Any]) -> None:
    """A15: unknown fields too."""
    site.admin().post(TOKENS, body).problem(422)


@pytest.mark.parametrize("who", ["nobody", "idle", "viewer", "operator", "editor", "group admin", "overseer", "chief"])
def test_only_administrators_deal_in_tokens(rights: RightsSite, who: str) -> None:
    """A14."""
    token = rights.site.admin().post(TOKENS, {"name": "t", "role": "viewer"}).json
    caller = rights.callers[who]
    for method, path, body in (
        ("GET", TOKENS, None),
        ("POST", TOKENS, {"name": "t", "role": "viewer"}),
        ("GET", f"{TOKENS}/{token['id']}", None),
        ("POST", f"{TOKENS}/{token['id']}/rotate", None),
        ("DELETE", f"{TOKENS}/{token['id']}", None),
    ):
        caller.call(method, path, body).problem(401 if who == "nobody" else 403)


# --- whom API tokens act for


def owned(site: Site, role: str = "admin", **body: Any) -> tuple[int, Caller, dict[str, Any]]:
    """Somebody of that role, who is signed in and has made a token."""
    said = {"username": "boss", "password": "the password of boss", "role": "admin"}
    user = site.admin().post("/api/v1/users", said).json["id"]
    signed_in = site.stranger().post("/api/v1/auth/login", {name: said[name] for name in ("username", "password")})
    boss = site.bearer(signed_in.json["access_token"])
    answer = boss.post(TOKENS, {"name": "theirs", "role": role, **body})
    assert answer.status == 201, answer.body
    return user, boss, answer.json


def test_a_token_is_good_only_while_its_owner_is(site: Site) -> None:
    user, _boss, token = owned(site)
    program = site.bearer(token["token"])
    admin, path = site.admin(), f"{TOKENS}/{token['id']}"
    assert (token["created_by"], token["owner_state"], program.get(TOKENS).status) == ("boss", "active", 200)
    assert admin.call("PATCH", f"/api/v1/users/{user}", {"disabled": True}).status == 200
    program.get(TOKENS).problem(401)
    assert [one["owner_state"] for one in admin.get(TOKENS).json["items"]] == ["disabled"]
    assert admin.call("PATCH", f"/api/v1/users/{user}", {"disabled": False}).status == 200
    assert program.get(TOKENS).status == 200
    assert admin.call("DELETE", f"/api/v1/users/{user}").status == 204
    program.get(TOKENS).problem(401)
    shown = admin.get(path).json
    assert (shown["owner_state"], shown["revoked_at"]) == ("removed", site.clock.now())
    done = [(one["action"], one["object_id"]) for one in admin.get("/api/v1/audit?limit=2").json["items"]]
    assert done == [("user.remove", str(user)), ("token.revoke", str(token["id"]))]
    owned(site)
    program.get(TOKENS).problem(401)


def test_a_token_may_no_more_than_its_owner_may_now(site: Site) -> None:
    group, other = site.group("demo"), site.group("other")
    user, _boss, token = owned(site, "editor")
    program, path = site.bearer(token["token"]), f"/api/v1/users/{user}"
    grants = [{"group_id": group, "role": "admin"}, {"group_id": other, "role": "viewer"}]
    assert site.admin().call("PATCH", path, {"role": None, "grants": grants}).status == 200
    me = program.get("/api/v1/users/me").json
    assert (me["role"], {one["group_id"]: one["role"] for one in me["groups"]}) == (
        None,
        {group: "editor", other: "viewer"},
    )
    assert site.admin().call("PATCH", path, {"role": "viewer", "grants": []}).status == 200
    program.post(f"/api/v1/jobs/{site.job(job_group=group)}/trigger").problem(403)
    assert program.get("/api/v1/jobs").status == 200


def test_a_program_gives_nobody_what_would_outlive_its_token(site: Site) -> None:
    """An administrator's token, if stolen, makes no user and no administrator who is there when it is revoked."""
    group, user = site.group("demo"), owned(site, "viewer")[0]
    program, path = site.bearer(made(site, role="admin")["token"]), f"/api/v1/users/{user}"
    before = site.state()
    refused = [
        program.post("/api/v1/users", {"username": "ghost", "role": "admin"}),
        program.post(f"{path}/password", {"password": "what a thief knows"}),
        program.call("PUT", f"{path}/grants/{group}", {"role": "admin"}),
        *(program.call("PATCH", path, body) for body in ({"role": "admin"}, {"disabled": False}, {"grants": []})),
        program.call("PATCH", path, {"disabled": True, "role": "admin"}),
    ]
    assert {one.problem(403)["code"] for one in refused} == {"needs_person"}
    assert site.state()["orth_job_user"] == before["orth_job_user"]


def test_a_program_may_take_away(site: Site) -> None:
    group, user = site.group("demo"), owned(site, "viewer")[0]
    program, path = site.bearer(made(site, role="admin")["token"]), f"/api/v1/users/{user}"
    assert program.call("DELETE", f"{path}/grants/{group}").status == 200
    assert program.call("DELETE", f"{path}/sessions").status == 200
    assert program.call("PATCH", path, {"disabled": True}).json["disabled"] is True
    assert program.call("DELETE", path).status == 204


def test_a_token_made_with_a_token_ends_with_it_and_has_the_same_owner(site: Site) -> None:
    user, boss, token = owned(site, expires_in_days=1)
    long = boss.post(TOKENS, {"name": "long", "role": "viewer"}).json
    others = made(site, expires_in_days=1)
    program = site.bearer(token["token"])
    program.post(TOKENS, {"name": "longer", "role": "admin", "expires_in_days": 300}).problem(403)
    for foreign in (long, others):
        program.post(f"{TOKENS}/{foreign['id']}/rotate").problem(403)
    assert program.post(f"{TOKENS}/{token['id']}/rotate").status == 200
    child = program.post(TOKENS, {"name": "child", "role": "viewer"}).json
    assert (child["created_by"], child["expires_at"]) == ("boss", token["expires_at"])
    assert site.bearer(child["token"]).get("/api/v1/groups").status == 200
    machines = program.post(TOKENS, {"kind": "executor", "name": "m", "app_names": ["demo"]}).json
    assert (machines["expires_at"], machines["owner_state"]) == (None, None)
    assert site.admin().call("DELETE", f"/api/v1/users/{user}").status == 204
    site.bearer(child["token"]).get("/api/v1/groups").problem(401)
    assert machine(site, machines["token"]).post("/api/registry", beat("demo")).status == 200


# --- tokens of executors


def test_a_group_token_registers_its_own_app_only(site: Site) -> None:
    """A07: another app's name is refused, and that is written down."""
    token = of_group(site, "demo", "demo-night")["token"]
    assert token.startswith(EXECUTOR_PREFIX)
    executor = machine(site, token)
    assert executor.post("/api/registry", beat("demo")).envelope()["code"] == 200
    assert executor.post("/api/registry", beat("demo-night")).envelope()["code"] == 200
    executor.post("/api/registry", beat("other")).envelope(403)
    executor.post("/api/registryRemove", beat("other")).envelope(403)
    shown = site.admin().get("/api/v1/executors").json["items"]
    assert {one["app_name"] for one in shown} == {"demo", "demo-night"}
    entries = site.admin().get("/api/v1/audit").json["items"]
    refused = {
        (one["actor_kind"], one["actor"], one["object_id"]) for one in entries if one["action"] == "executor.refused"
    }
    assert refused == {("executor", "of demo", "/api/registry"), ("executor", "of demo", "/api/registryRemove")}


def test_a_token_is_accepted_from_its_networks_only(prepared: Path, tmp_path: Path) -> None:
    (tmp_path / "orth.db").write_bytes(prepared.read_bytes())
    proxies = SecuritySection(trusted_proxies=(ip_network("127.0.0.1/32"),), stranger_burst=1_000)
    with Site(tmp_path / "orth.db", Settings(security=proxies)) as site:
        body = {"kind": "executor", "name": "of demo", "app_names": ["demo"], "networks": ["10.20.0.0/16", "fd00::/8"]}
        token = site.admin().post(TOKENS, body).json
        assert token["networks"] == ["10.20.0.0/16", "fd00::/8"]
        executor = machine(site, token["token"])
        for outside in ({}, {"X-Forwarded-For": "10.21.0.1"}, {"X-Forwarded-For": "10.20.0.1, 192.0.2.1"}):
            refused = executor.post("/api/registry", beat("demo"), **outside).envelope(403)
            assert "not accepted from" in refused["msg"]
            executor.post("/api/callback", [], **outside).envelope(403)
            assert executor.get("/api/orchestrators", **outside).problem(403)["code"] == "token_not_from_here"
        for inside in ("10.20.255.1", "fd00::1", "::ffff:10.20.0.7"):
            executor.post("/api/registry", beat("demo"), **{"X-Forwarded-For": inside}).envelope()
            assert executor.get("/api/orchestrators", **{"X-Forwarded-For": inside}).status == 200
        entries = site.admin().get("/api/v1/audit").json["items"]
        refused = {(one["action"], one["actor"], one["object_id"]) for one in entries if "refused" in one["action"]}
        assert ("executor.refused", "of demo", "/api/registry") in refused
        assert ("api.refused", "of demo", "GET /api/orchestrators") in refused


@pytest.mark.parametrize("network", ["10.20.1.0/16", "somewhere", "10.0.0.0/33", ""])
def test_what_is_no_network_is_refused(site: Site, network: str) -> None:
    body = {"kind": "executor", "name": "x", "app_names": ["demo"], "networks": [network]}
    site.admin().post(TOKENS, body).problem(422)
    program = {"name": "x", "role": "viewer", "networks": ["10.0.0.0/8"]}
    assert site.admin().post(TOKENS, program).problem(422)["errors"][0]["code"] == "api_token_parts"


def test_a_group_token_reports_for_its_own_executions_only(site: Site) -> None:
    """A05: unchanged, refused, audited; its own results in the same callback are stored."""
    own, other = (site.execution(site.job(job_group=site.group(name))) for name in ("demo", "other"))
    for one in (own, other):
        site.dispatched(one, "http://127.0.0.1:9999")
    executor = machine(site, of_group(site, "demo")["token"])
    executor.headers["ORTH-EXTENSIONS"] = "verdicts"
    results = [{"logId": one, "handleCode": 200, "handleMsg": "done"} for one in (own, other)]
    executor.post("/api/callback", results[1:]).envelope(403)
    verdicts = executor.post("/api/callback", results).envelope()["data"]["verdicts"]
    assert {one["logId"]: one["verdict"] for one in verdicts} == {own: "stored", other: "retry"}
    statuses = [site.admin().get(f"/api/v1/executions/{one}").json["status"] for one in (own, other)]
    assert statuses == ["success", "pending"]
    refused = [one for one in site.admin().get("/api/v1/audit").json["items"] if one["action"] == "callback.refused"]
    assert [(one["actor"], one["object_id"]) for one in refused] == [("of demo", str(other))]


def test_a_group_token_opens_nothing_else(site: Site) -> None:
    """A leaked one can read and trigger nothing."""
    job = site.job(job_group=site.group("demo"))
    token = of_group(site, "demo")["token"]
    for caller in (machine(site, token), site.bearer(token)):
        for path in ("/api/v1/jobs", "/api/v1/groups", "/api/v1/executions", "/api/v1/executors", "/metrics"):
            caller.get(path).problem(401)
        caller.post(f"/api/v1/jobs/{job}/trigger").problem(401)
        caller.get("/api/agents").problem(403)
        caller.post("/api/orchestrators/register", {"url": "http://10.6.6.6:5080"}).problem(403)
        assert caller.get("/api/orchestrators").status == 200


def test_a_group_token_speaks_for_its_own_agents_only(site: Site) -> None:
    executor = machine(site, of_group(site, "demo")["token"])
    executor.post("/api/registry", beat("demo")).envelope()
    mine = executor.post("/api/agents/register", {"url": "http://10.0.0.1:9999", "name": "demo"})
    assert mine.status == 200
    assert executor.post(f"/api/agents/{mine.json['id']}/heartbeat").status == 200
    executor.post("/api/agents/register", {"url": "http://10.0.0.2:9999", "name": "other"}).problem(403)
    others = site.executor().post("/api/agents/register", {"url": "http://10.0.0.3:9999", "name": "other"}).json["id"]
    executor.post(f"/api/agents/{others}/unregister").problem(403)
    executor.post(f"/api/agents/{'0' * 32}/heartbeat").problem(404)


def test_a_group_token_takes_no_agent_of_another_app(site: Site) -> None:
    """What another app, or nobody with a name, has registered at a url stays as it is."""
    victim, thief = (machine(site, of_group(site, name)["token"]) for name in ("victim", "mine"))
    url, unnamed = "http://10.0.0.1:9999", "http://10.0.0.2:9999"
    victim.post("/api/registry", beat("victim", url)).envelope()
    for one in (url, unnamed):
        thief.post("/api/registry", beat("mine", one)).envelope()
    theirs = victim.post("/api/agents/register", {"url": url, "name": "victim", "incarnation": "v"}).json["id"]
    nobodys = site.executor().post("/api/agents/register", {"url": unnamed}).json["id"]
    for one in (url, unnamed):
        evil = thief.post("/api/agents/register", {"url": one, "name": "mine", "incarnation": "evil"}).json["id"]
        assert evil not in (theirs, nobodys)
        assert thief.post(f"/api/agents/{evil}/unregister").status == 200
    for verb in ("heartbeat", "status?status=Idle", "unregister"):
        for one in (theirs, nobodys):
            thief.post(f"/api/agents/{one}/{verb}").problem(403)
    shown = {one["url"]: (one["name"], one["incarnation"]) for one in site.admin().get("/api/agents").json}
    assert shown == {url: ("victim", "v"), unnamed: (None, None)}
    assert victim.post(f"/api/agents/{theirs}/heartbeat").status == 200
    entries = site.admin().get("/api/v1/audit").json["items"]
    assert {one["actor"] for one in entries if one["action"] == "api.refused"} == {"of mine"}
    renamed = site.executor().post("/api/agents/register", {"url": url, "name": "mine"})
    assert (renamed.status, renamed.json["id"]) == (200, theirs), "the cluster's own token speaks for all"


def test_who_comes_first_does_not_keep_others_from_their_url(site: Site) -> None:
    victim, thief = (machine(site, of_group(site, name)["token"]) for name in ("victim", "mine"))
    said = {"url": "http://10.0.0.1:9999", "incarnation": "one"}
    for caller, name in ((thief, "mine"), (victim, "victim")):
        caller.post("/api/registry", beat(name)).envelope()
    evil = thief.post("/api/agents/register", {**said, "name": "mine"}).json["id"]
    first = victim.post("/api/agents/register", {**said, "name": "victim"})
    assert first.status == 200
    theirs = first.json["id"]
    assert theirs != evil
    assert victim.post(f"/api/agents/{theirs}/status?status=Idle").status == 200
    for _ in range(2):
        assert thief.post("/api/agents/register", {**said, "name": "mine"}).json["id"] == evil
        assert victim.post("/api/agents/register", {**said, "name": "victim"}).json["id"] == theirs
    thief.post(f"/api/agents/{theirs}/unregister").problem(403)
    shown = {one["id"]: (one["name"], one["status"]) for one in site.admin().get("/api/agents").json}
    assert shown == {theirs: ("victim", "Idle"), evil: ("mine", "Starting")}
    shared = site.executor().post("/api/agents/register", {**said, "name": "victim"})
    assert shared.json["id"] == theirs, "with the token of all it is the one of its name"


def test_where_all_must_sign_only_those_register_who_read_signatures(prepared: Path, tmp_path: Path) -> None:
    settings = Settings(security=SecuritySection(require_signatures=True))
    with Site(Path(shutil.copy(prepared, tmp_path / "orth.db")), settings) as site:
        signer = Signer("evil", site.clock)

        def register(*extensions: str) -> Answer:
            said = {**beat("demo"), "orth": {"incarnation": "evil", "extensions": extensions}}
            for body in (json.dumps(beat("demo") if not extensions else said).encode(),) * 2:
                headers = signer.header(ACCESS_TOKEN, site.url, "POST", "/api/registry", body)
                answer = site.stranger().call("POST", "/api/registry", raw=body, headers=headers)
                signer.learns(site.url, headers, answer.status == 401, answer.headers, ACCESS_TOKEN)
            return answer

        register().envelope(403)
        register("kill-execution").envelope(403)
        assert site.admin().get("/api/v1/executors").json["items"] == []
        register("signed").envelope()
        assert len(site.admin().get("/api/v1/executors").json["items"]) == 1


def test_a_group_token_uses_its_own_queues_only(own_site: Site) -> None:
    token = of_group(own_site, "demo")["token"]
    executor, own = machine(own_site, token), EnrolledCaller(own_site.url, token, "demo", own_site.clock)
    prefix = "orchestrix.job.dispatch."

    def take(queue: str) -> int:
        mine = {"consumer": own.incarnation, "process": own.own.process}
        return own.post("/api/channels/take", {"queues": [prefix + queue], **mine}).status

    assert {take("demo.default"), take("demo.default.p2")} == {503}, "let through; there are no channels here"
    assert {take("other.default"), take("demo"), take("demo.x.default"), take("demox.default")} == {403}
    beat_of = {"topic": "orchestrix.worker.heartbeat", "message": {"appName": "other"}}
    assert executor.post("/api/channels/announce", beat_of).status == 403
    foreign = own_site.execution(own_site.job(job_group=own_site.group("other")))
    box = f"orchestrix.job.1.status.{foreign}"
    assert executor.post("/api/channels/read", {"after": {box: ""}}).status == 403
    assert executor.post("/api/channels/post", {"boxes": {box: [{}]}}).status == 403


def test_rotation_and_revocation_of_a_group_token(site: Site) -> None:
    token = of_group(site, "demo")
    rotated = site.admin().post(f"{TOKENS}/{token['id']}/rotate", {"overlap": 60}).json["token"]
    old, new = machine(site, token["token"]), machine(site, rotated)
    assert {one.post("/api/registry", beat("demo")).status for one in (old, new)} == {200}
    site.clock.move(60)
    assert [one.post("/api/registry", beat("demo")).status for one in (old, new)] == [401, 200]
    assert site.admin().call("DELETE", f"{TOKENS}/{token['id']}").status == 204
    site.clock.move(5)
    new.post("/api/registry", beat("demo")).envelope(401)


def test_the_shared_token_still_lets_everybody_in(site: Site) -> None:
    of_group(site, "demo")
    assert machine(site, ACCESS_TOKEN).post("/api/registry", beat("demo")).status == 200


def test_where_executors_are_known_the_token_alone_gives_what_security_md_says(site: Site) -> None:
    group = site.group("demo", admission="known")
    thief = machine(site, of_group(site, "demo")["token"])
    keyed, unkeyed = (site.execution(site.job(job_group=group)) for _ in range(2))
    site.dispatched(keyed, "http://10.0.0.1:9999", keyed=True)
    site.dispatched(unkeyed, "http://10.0.0.1:9999")
    before = site.contents()["orth_job_log"]
    assert thief.post("/api/registry", beat("demo")).envelope(403)["msg"]
    assert thief.get("/api/orchestrators").status == 200
    assert thief.get("/api/agents").status == 403
    assert thief.post("/api/callback", [{"logId": keyed, "handleCode": 200}]).envelope(403)["msg"]
    begun = {"incarnation": "thief", "begun": [{"logId": keyed, "startTime": 1}]}
    assert thief.post("/api/begun", begun).envelope()["data"] == {"again": []}
    asked = {"offers": [{"executionId": keyed}]}
    assert thief.post("/api/openOffers", asked).envelope()["data"]["open"] == []
    taken = {"queues": ["orchestrix.job.dispatch.demo.default"], "consumer": "thief", "count": 1}
    assert thief.post("/api/channels/take", taken).envelope(403)["msg"]
    assert site.contents()["orth_job_log"] == before
    agent = {"url": "http://10.0.0.1:9999", "name": "demo"}
    assert thief.post("/api/agents/register", agent).status == 409, "no executor of the group is registered there"
    told = {"logId": unkeyed, "logDateTim": site.trigger_time(unkeyed), "handleCode": 200}
    assert thief.post("/api/callback", [told]).envelope()["code"] == 200, "it was sent without a report key"


@pytest.mark.parametrize(
    "address",
    ["http://169.254.169.254", "http://[fe80::1]:80", "http://[::ffff:169.254.169.254]", "http://100.100.100.200"],
)
def test_an_address_that_is_never_called_is_not_registered(site: Site, executor: Caller, address: str) -> None:
    """A08, A40."""
    executor.post("/api/registry", beat("demo", address)).envelope(422)
    executor.post("/api/agents/register", {"url": address, "name": "demo"}).problem(422)
    assert site.admin().get("/api/v1/executors").json["items"] == []


@pytest.mark.parametrize("who", ["operator", "editor", "administrator"])
def test_a_trigger_goes_only_to_addresses_of_its_group(rights: RightsSite, who: str) -> None:
    """A39: whoever asks, and however much they may."""
    caller, job = rights.callers[who], rights.ours.job
    span = {"start": "2026-02-01T00:00:00Z", "end": "2026-02-01T03:00:00Z"}
    for address, status in (("http://10.66.66.66:80", 422), ("http://ours.example.org:9999", 202)):
        assert caller.post(f"/api/v1/jobs/{job}/trigger", {"address_list": [address]}).status == status
        assert caller.post(f"/api/v1/jobs/{job}/trigger-batch", {**span, "address_list": [address]}).status == status
