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

_IMPORT = """
import gc
from orth.collecting import importing

class Ring:
    pass

rounds = []
gc.callbacks.append(lambda phase, info: rounds.append(phase))
gc.collect()
assert rounds, "rounds are not counted"
rounds.clear()
with importing():
    kept = [Ring() for _ in range(100_000)]
    assert not rounds, "the collector looked while modules were imported"
assert gc.isenabled()
assert not any(one is kept[0] for one in gc.get_objects()), "what was imported is looked at again"
"""


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_nothing_is_looked_at_while_modules_are_imported() -> None:
    run(_IMPORT)


def test_the_start_is_set_aside_and_later_rings_are_still_found() -> None:
    run(_LOOK)
