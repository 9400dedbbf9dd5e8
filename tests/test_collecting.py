"""What is set aside from the garbage collector, in a process of its own: the collector is one for all."""

import subprocess
import sys

_LOOK = """
import gc
from orth.collecting import set_start_aside

class Ring:
    pass

old = Ring()
set_start_aside()
assert gc.get_freeze_count() > 1_000, gc.get_freeze_count()
assert not any(one is old for one in gc.get_objects()), "what was there is looked at again"
new = Ring()
new.itself = new
assert any(one is new for one in gc.get_objects()), "what came later is not looked at"
import weakref
gone = weakref.ref(new)
del new
gc.collect()
assert gone() is None, "a ring that came later stays for ever"
"""


def test_the_start_is_set_aside_and_later_rings_are_still_found() -> None:
    done = subprocess.run([sys.executable, "-c", _LOOK], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
