"""How child processes end, in words."""

import signal
from dataclasses import dataclass

_LIMITS_PASSED: dict[int, str] = {
    signal.SIGXCPU: ", because it used more processor time than it may",
    signal.SIGXFSZ: ", because it wrote a larger file than it may",
}


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: its exit value, or minus the signal that ended it."""

    code: int
    survivors: tuple[int, ...] = ()
    overdue: bool = False
    """Whether it was ended because its own limit had passed."""

    def __str__(self) -> str:
        if self.code >= 0:
            return f"exit value {self.code}"
        return f"killed by {_signal_name(-self.code)}" + _LIMITS_PASSED.get(-self.code, "")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
