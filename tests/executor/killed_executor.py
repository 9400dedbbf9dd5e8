"""A program for tests to kill: an executor with a stubborn script and two stubborn workers. Arguments: folder, mark."""

import sys
import time
from pathlib import Path

from tests.executor.bench import Rig, eventually
from tests.executor.isolated_jobs import app
from tests.executor.survivors import alive

SCRIPT = """
trap '' TERM
(setsid sleep {mark} &)
sleep {mark} &
while :; do sleep {mark}; done
"""

if __name__ == "__main__":
    folder, mark = sys.argv[1:]
    rig = Rig(app, Path(folder), scripts=("shell",))
    rig.run(1, "stubborn", executor_params=mark)
    source = SCRIPT.format(mark=mark)
    rig.run(2, "", job_id=2, glue_type="GLUE_SHELL", glue_source=source, glue_updatetime=1, executor_params=mark)
    rig.run(3, "stops_its_guard", job_id=3, executor_params=f"once {mark}")
    eventually(lambda: len(alive(mark)) >= 6, 30)
    print("ready", flush=True)
    time.sleep(600)
