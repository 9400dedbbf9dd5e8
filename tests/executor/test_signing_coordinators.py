"""Which coordinators read signatures, in a file: kept, bounded, private."""

from pathlib import Path

from orth.executor.signing_coordinators import LIMIT, SigningCoordinators


def test_what_one_process_has_seen_the_next_one_knows(tmp_path: Path) -> None:
    file = tmp_path / "data" / "signing"
    first = SigningCoordinators(file)
    assert "http://a:1" not in first
    for _again in range(2):
        first.add("http://a:1")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("http://a:1\n", 0o600)
    after = SigningCoordinators(file)
    assert ("http://a:1" in after, "http://b:1" in after) == (True, False)


def test_a_full_file_counts_for_every_address(tmp_path: Path) -> None:
    """So that nobody can make an address be forgotten, or fill the disk."""
    file = tmp_path / "signing"
    file.write_text("".join(f"http://{number}:1\n" for number in range(LIMIT)))
    full = SigningCoordinators(file)
    assert "http://new:1" in full
    full.add("http://new:1")
    assert len(file.read_text().splitlines()) == LIMIT
