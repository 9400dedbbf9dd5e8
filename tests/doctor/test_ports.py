import os
import socket
from pathlib import Path

import pytest

from orth.doctor import State
from orth.doctor.listeners import who_listens
from orth.doctor.ports import configured_ports, look_at_port
from tests.doctor.places import COORDINATOR, case_of, only, serving


def test_the_ports_of_the_settings() -> None:
    assert configured_ports(case_of()) == ["127.0.0.1:5080", "127.0.0.1:9999"]
    assert configured_ports(case_of({"executor": {"transport": "queue"}})) == ["127.0.0.1:5080"]


def test_a_free_port_stays_free(free_port: int) -> None:
    written = f"127.0.0.1:{free_port}"
    assert only(look_at_port(case_of(), written), State.OK).what == f"{written} is free."
    socket.create_server(("127.0.0.1", free_port)).close()
    assert who_listens(free_port) is None
    assert "any free port" in only(look_at_port(case_of(), "127.0.0.1:0"), State.OK).what


def test_a_port_where_a_process_of_orth_up_should_be(free_port: int) -> None:
    written = f"127.0.0.1:{free_port}"
    verdict = only(look_at_port(case_of(listening=(written,)), written), State.BAD)
    assert verdict.what == f"Nobody listens on {written}, where orth up has a process."
    assert "orth ps" in verdict.next


def test_a_port_that_orth_has_and_one_that_somebody_else_has() -> None:
    with serving(COORDINATOR) as place:
        verdict = only(look_at_port(case_of(), f"127.0.0.1:{place.server_port}"), State.OK)
        assert f"by process {os.getpid()} (" in verdict.what
        assert "a coordinator of Orth answers there" in verdict.what
    with serving({}, server="Apache") as place:
        verdict = only(look_at_port(case_of(), f"127.0.0.1:{place.server_port}"), State.BAD)
        assert "server 'Apache'" in verdict.what
        assert "--listen 127.0.0.1:PORT" in verdict.next


def test_a_port_that_speaks_no_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orth.doctor.asking.PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0), backlog=5) as listening:
        written = f"127.0.0.1:{listening.getsockname()[1]}"
        verdict = only(look_at_port(case_of(), written), State.BAD)
        assert f"by process {os.getpid()} (" in verdict.what
        assert "something that speaks no HTTP" in verdict.what


def test_addresses_that_are_not_of_this_machine() -> None:
    assert "no such address" in only(look_at_port(case_of(), "192.0.2.1:5080"), State.BAD).what
    only(look_at_port(case_of(), "no-such-host.invalid:5080"), State.WARN)


def test_the_command_line_of_a_holder_tells_no_password(tmp_path: Path) -> None:
    proc = tmp_path
    (proc / "net").mkdir()
    row = "   0: 0100007F:13D8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 4711 1"
    (proc / "net" / "tcp").write_text(f"header\n{row}\n")
    (proc / "77" / "fd").mkdir(parents=True)
    (proc / "77" / "fd" / "5").symlink_to("socket:[4711]")
    (proc / "77" / "cmdline").write_bytes(b"/usr/sbin/mysqld\0--password=secret\0")
    assert str(who_listens(0x13D8, proc)) == "process 77 (mysqld)"
    (proc / "77" / "cmdline").write_bytes(b"/usr/bin/python3\0-m\0orth\0server\0--x\0")
    assert str(who_listens(0x13D8, proc)) == "process 77 (python3 -m orth server)"
    (proc / "77" / "fd" / "5").unlink()
    assert str(who_listens(0x13D8, proc)) == "a process of another user"
    assert who_listens(1, proc) is None
