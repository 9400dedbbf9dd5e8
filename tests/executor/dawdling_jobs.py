"""A handler for worker processes whose parameters take for ever to read, in whichever process reads them."""

import time
from typing import Annotated

from pydantic import BeforeValidator

from orth import Executor

app = Executor("dawdling-app")


def dawdle(value: object) -> object:
    while value == "long":
        time.sleep(0.001)
    return value


@app.job(isolation="process")
def dawdling(pace: Annotated[str, BeforeValidator(dawdle)], more: int = 0) -> str:
    return f"{pace} {more}"
