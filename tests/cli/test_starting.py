import os

import pytest

from orth.cli.starting import needing_extra, wait_for_turn
from orth.errors import CannotStart


def test_a_missing_package_becomes_advice() -> None:
    with (
        pytest.raises(CannotStart, match=r"needs no_such_package,.* -m pip install .*fastapi.*sqlalchemy"),
        needing_extra("server"),
    ):
        import no_such_package.part  # type: ignore[import-not-found]  # it is missing on purpose # noqa: F401


def test_a_missing_part_of_the_product_is_a_bug() -> None:
    with pytest.raises(ModuleNotFoundError), needing_extra("server"):
        import orth.no_such_part  # type: ignore[import-not-found]  # it is missing on purpose # noqa: F401


def test_a_process_waits_for_its_turn_only_where_somebody_gives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_for_turn()
    for told in (b"g", b""):
        waiting, gate = os.pipe()
        monkeypatch.setenv("ORTH_UP_GATE", str(waiting))
        os.write(gate, told)
        os.close(gate)
        if told:
            wait_for_turn()
        else:
            with pytest.raises(CannotStart, match="orth up has ended"):
                wait_for_turn()
        assert "ORTH_UP_GATE" not in os.environ, "it is not for jobs to see"
