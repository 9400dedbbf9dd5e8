"""An executor inside another program registers as any other, and leaves the program's signals and files alone."""

import signal
from pathlib import Path

from orth import Executor
from orth.settings import load_settings
from tests.lifecycle.registry import ScriptedRegistry
from tests.servers.processes import free_port, wait_until


def test_it_registers_and_leaves_and_hears_neither_signal_nor_file(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGHUP)
    file = tmp_path / "orth.toml"
    with ScriptedRegistry() as registry, ScriptedRegistry() as other:
        registry.add_orchestrator("abc", "http://10.0.0.1:5080")
        file.write_text(f'[registry]\nurl = "{registry.url}"\nsettle = "0s"\ndiscover = "200ms"\n')
        options = {
            "executor.listen": f"127.0.0.1:{free_port()}",
            "executor.data_dir": str(tmp_path / "executor"),
            "executor.call_timeout": "200ms",
            "security.access_token": registry.token,
        }
        app = Executor("guest")
        url = app.start(load_settings(options, environ={}, cwd=tmp_path))
        try:
            wait_until(lambda: registry.statuses() == ["Idle"], "it is registered")
            assert signal.getsignal(signal.SIGHUP) is before
            file.write_text(f'[registry]\nurl = "{other.url}"\n')
            asked = len(registry.of("list"))
            wait_until(lambda: len(registry.of("list")) > asked + 15, "a while has passed")
            assert other.asked == []
        finally:
            app.stop()
    assert registry.of("register")[0].body["url"] == url
    assert registry.verbs()[-1] == "unregister"
    assert registry.statuses()[-1] == "Stopping"
