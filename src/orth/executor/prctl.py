"""What a process asks of the kernel about itself, by ``prctl``: Python has no words for it."""

import ctypes
import signal

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
_SET_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>
_SET_NO_NEW_PRIVILEGES = 38  # PR_SET_NO_NEW_PRIVS of <linux/prctl.h>


def gain_no_privileges() -> None:
    """From here on, no program that is executed gives this process or its children more rights than they have."""
    _control(_SET_NO_NEW_PRIVILEGES, 1)


def become_subreaper() -> None:
    _control(_SET_SUBREAPER, 1)


def go_on_without_parent() -> None:
    """Have the kernel send SIGCONT when the parent dies: whoever was stopped wakes up and sees it.

    The kernel means the thread that made this process, and after that whichever becomes the parent; too many of these
    signals do nothing.
    """
    _control(_SET_PARENT_DEATH_SIGNAL, signal.SIGCONT)


def _control(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value}) failed")
