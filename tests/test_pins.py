"""The hashes in pins/ are those of what is pinned, complete and without addresses; pip takes nothing else. (A82)"""

import re
import subprocess
import sys
import tomllib
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.pin_hashes import EXTRAS, FILES, PINS
from tools.vulnerabilities import install_command

from tests.test_repository import constraints

_LINE = re.compile(r"([a-z0-9._-]+)==([0-9][0-9a-z.]*)(?: ; (.+))? \\")
_HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")


def pinned(name: str) -> dict[str, str]:
    """Versions by package, of a file that holds nothing but those and hashes."""
    lines = [line for line in (PINS / name).read_text().splitlines() if not line.startswith("#")]
    heads = [found for line in lines if (found := _LINE.fullmatch(line))]
    assert [line for line in lines if not _LINE.fullmatch(line) and not _HASH.fullmatch(line)] == []
    assert lines.count("") == 0
    assert len(lines) > len(heads) > 0
    return {canonicalize_name(found[1]): found[2] for found in heads}


@pytest.mark.parametrize("name", FILES)
def test_what_is_pinned_by_hash_is_what_is_pinned(name: str) -> None:
    versions = {canonicalize_name(package): version for package, version in constraints().items()}
    known = pinned(name) if name == "audit.txt" else {}  # which has an environment of its own: it agrees where both are
    assert {package: versions.get(package, known.get(package)) for package in pinned(name)} == pinned(name)


def test_every_dependency_is_pinned_by_hash() -> None:
    project = tomllib.loads((PINS.parent / "pyproject.toml").read_text())
    extras = [text for extra in EXTRAS for text in project["project"]["optional-dependencies"][extra]]
    asked = {
        "install.txt": [*project["build-system"]["requires"], *project["project"]["dependencies"], *extras],
        "development.txt": project["dependency-groups"]["dev"],
    }
    for name, texts in asked.items():
        names = {canonicalize_name(Requirement(text).name) for text in texts}
        assert names - pinned(name).keys() == set(), "run: python tools/pin_hashes.py"


def test_an_audit_installs_only_what_is_pinned_by_hash(tmp_path: Path) -> None:
    command = install_command(tmp_path, "hashes")
    assert {"--require-hashes", "--no-deps"} < set(command)
    assert command[-2:] == ["--requirement", str(PINS / "audit.txt")]
    assert "pip-audit" in pinned("audit.txt")
    versions = [one for one in install_command(tmp_path, "versions") if "==" in one]
    assert {text.partition("==")[0]: text.partition("==")[2].split(" ;")[0] for text in versions} == pinned("audit.txt")


def wheel(folder: Path, content: str) -> Path:
    made = folder / "tampered-1.0-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("tampered.py", content)
        file.writestr("tampered-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tampered\nVersion: 1.0\n")
        file.writestr("tampered-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("tampered-1.0.dist-info/RECORD", "")
    return made


def test_a_package_with_another_hash_is_refused(tmp_path: Path) -> None:
    asked, target = tmp_path / "pins.txt", tmp_path / "target"
    options = ("--require-hashes", "--no-deps", "--no-index", "--find-links", tmp_path, "--target", target)
    install = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *options, "--requirement", asked]
    good = wheel(tmp_path, "good = True").read_bytes()
    asked.write_text(f"tampered==1.0 --hash=sha256:{sha256(good).hexdigest()}\n")
    made = wheel(tmp_path, "good = False")
    refused = subprocess.run(install, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "DO NOT MATCH THE HASHES" in refused.stderr
    assert not target.exists()
    made.write_bytes(good)
    assert subprocess.run(install, capture_output=True, check=False).returncode == 0
    assert (target / "tampered.py").read_text() == "good = True"
