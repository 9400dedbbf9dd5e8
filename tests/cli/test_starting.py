import pytest

from orth.cli.starting import needing_extra
from orth.errors import CannotStart


def test_a_missing_package_becomes_advice() -> None:
    with (
        pytest.raises(CannotStart, match=r"needs no_such_package,.* pip install 'orth\[server\]'"),
        needing_extra("server"),
    ):
        import no_such_package.part  # type: ignore[import-not-found]  # it is missing on purpose # noqa: F401


def test_a_missing_part_of_the_product_is_a_bug() -> None:
    with pytest.raises(ModuleNotFoundError), needing_extra("server"):
        import orth.no_such_part  # type: ignore[import-not-found]  # it is missing on purpose # noqa: F401
