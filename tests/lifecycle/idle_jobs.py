"""An executor for the scenarios: one handler that ends at once, one that waits for a file."""

import time
from pathlib import Path

from orth import Executor

app = Executor("scenario")


@app.job("quick")
def quick() -> None:
    print("done")


@app.job("until_told")
def until_told(path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.02)


if __name__ == "__main__":
    app.main()
