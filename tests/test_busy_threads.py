import threading

from tests.busy_threads import busy_threads


def test_who_spins_is_named_and_who_rests_is_not() -> None:
    end = threading.Event()

    def spin() -> None:
        while not end.is_set():
            pass

    spinning = threading.Thread(target=spin, name="spins without end")
    resting = threading.Thread(target=end.wait, name="rests without end")
    for one in (spinning, resting):
        one.start()
    try:
        found = busy_threads()
    finally:
        end.set()
    assert "spins without end" in found
    assert "rests without end" not in found
