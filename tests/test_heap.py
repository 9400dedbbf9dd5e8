"""Memory that was freed goes back to the system."""

import subprocess
import sys

PROGRAM = """
import asyncio, ctypes
from orth.clock import SystemClock
from orth.events import Events
from orth.heap import HeapTrimmer

def resident():
    return int(open("/proc/self/status").read().split("VmRSS:")[1].split()[0]) // 1024

glibc = ctypes.CDLL(None)
glibc.malloc.restype = ctypes.c_void_p
glibc.free.argtypes = [ctypes.c_void_p]
before = resident()
blocks = [glibc.malloc(60_000) for _ in range(4000)]
for block in blocks:
    ctypes.memset(block, 1, 60_000)
full = resident()
for place, block in enumerate(blocks):
    if place % 100:
        glibc.free(block)
scattered = resident()
asyncio.run(HeapTrimmer(SystemClock(), Events()).turn())
assert full - before > 200, (before, full)
assert resident() - before < 60, (before, full, scattered, resident())
"""


def test_what_is_scattered_among_blocks_in_use_is_given_back() -> None:
    subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("ctypes.memset(block", "ctypes.memset(ctypes.c_void_p(block)")],
        check=True,
        timeout=60,
    )
