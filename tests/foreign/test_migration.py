"""A migration as it happens: an import beside a running coordinator, and the old executor goes on working."""

import json
from pathlib import Path

from tests.cli.running import orth
from tests.foreign.conftest import Coordinator
from tests.foreign.executors import ForeignExecutor
from tests.walk.processes import eventually


def test_an_imported_job_that_ran_goes_on_with_its_old_executor(coordinator: Coordinator, tmp_path: Path) -> None:
    app_name = coordinator.app_name()
    job = {
        "id": 7,
        "jobGroup": 1,
        "jobDesc": "migrated",
        "scheduleType": "FIX_RATE",
        "scheduleConf": "1",
        "executorRouteStrategy": "FIRST",
        "executorHandler": "demoJobHandler",
        "executorParam": "as ever",
        "glueType": "BEAN",
        "triggerStatus": 1,
    }
    file = tmp_path / "export.json"
    file.write_text(json.dumps({"groups": [{"id": 1, "appName": app_name, "title": "old"}], "jobs": [job]}))
    store = f"sqlite:///{coordinator.site.folder}/coordinator/orth.db"
    with ForeignExecutor(coordinator.url, app_name) as executor:
        executor.register()
        done = orth("import", "xxl-job", "--from", str(file), "--store", store, "--keep-running", cwd=tmp_path)
        assert done.returncode == 0, done
        assert "started: 1" in done.stdout
        got = eventually(lambda: executor.got("run"), what="the first trigger")[0]
        assert (got["executorHandler"], got["executorParams"]) == ("demoJobHandler", "as ever")
        coordinator.api.call("POST", f"/api/v1/jobs/{got['jobId']}/stop")
        executor.report(got["logId"])
        assert coordinator.until(got["logId"], status="success")["cause"] == "fixed_rate"
        for other in executor.got("run")[1:]:
            executor.report(other["logId"])
        executor.leave()
