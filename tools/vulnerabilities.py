"""Looks for known vulnerabilities in what Orth depends on: ``python tools/vulnerabilities.py VENV``.

Python packages are those of constraints.txt, looked up by pip-audit, which is installed in VENV/audit with the hashes
of pins/audit.txt (with PINS=versions, in its versions); what the console is built from is looked up by npm. Exit code:
0 nothing was found, 1 something was, 2 the package indexes could not be asked.
"""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
AUDIT_PINS = ROOT / "pins" / "audit.txt"
FOUND, NOT_ASKED = 1, 2


def tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """A command of this repository; nothing in it comes from outside."""
    return subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False)  # noqa: S603  # see above


def install_command(place: Path, pins: str) -> list[str]:
    """How pip-audit is installed: nothing but the pinned files, or the pinned versions of an index with other files."""
    pip = [str(place / "bin" / "pip"), "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    if pins != "versions":
        return [*pip, "--require-hashes", "--requirement", str(AUDIT_PINS)]
    lines = AUDIT_PINS.read_text().splitlines()
    return pip + [line.removesuffix(" \\") for line in lines if line and not line.startswith((" ", "#"))]


def python_packages(place: Path) -> int:
    program = place / "bin" / "pip-audit"
    if not program.exists():
        venv.create(place, with_pip=True)
        installed = run(*install_command(place, os.environ.get("PINS", "hashes")))
        if installed.returncode:
            tell("Python: pip-audit cannot be installed as pins/audit.txt has it:")
            tell((installed.stderr.strip().splitlines() or ["pip says nothing"])[-1])
            return NOT_ASKED
    options = ("--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json")
    asked = run(program, "--requirement", "constraints.txt", *options)
    try:
        packages = json.loads(asked.stdout)["dependencies"]
    except (ValueError, KeyError):
        tell(f"Python: pip-audit could not ask: {(asked.stderr.strip().splitlines() or ['it says nothing'])[-1]}")
        return NOT_ASKED
    return judged(packages)


def judged(packages: list[dict[str, object]]) -> int:
    """What pip-audit says of each package, told and turned into an exit code."""
    looked_up = [one for one in packages if "skip_reason" not in one]
    if not looked_up:
        tell(f"Python: none of {len(packages)} packages could be looked up; the advisories cannot be reached.")
        return NOT_ASKED
    affected = [one for one in looked_up if one.get("vulns")]
    for one in affected:
        vulnerabilities = one["vulns"]
        assert isinstance(vulnerabilities, list)
        for known in vulnerabilities:
            mended = ", ".join(known.get("fix_versions") or ()) or "no version"
            tell(f"Python: {one['name']} {one['version']}: {known['id']}, mended in {mended}")
    tell(f"Python: {len(looked_up)} of {len(packages)} packages looked up, {len(affected)} with known vulnerabilities.")
    return FOUND if affected else 0


def console_packages(bin_folder: Path) -> int:
    console = ROOT / "console"
    npm = bin_folder / "npm"
    if not (console / "package.json").exists():
        return 0
    if not npm.exists():
        tell("Console: npm is not installed; make console installs it.")
        return NOT_ASKED
    os.environ["PATH"] = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    locked = run(npm, "install", "--package-lock-only", "--no-audit", "--no-fund", cwd=console)
    try:
        asked = run(npm, "audit", "--json", cwd=console) if locked.returncode == 0 else None
    finally:
        (console / "package-lock.json").unlink(missing_ok=True)  # package.json names exact versions
    try:
        counts = json.loads(asked.stdout if asked else "{}")["metadata"]["vulnerabilities"]
    except (ValueError, KeyError):
        tell("Console: npm could not ask; the registry does not answer.")
        return NOT_ASKED
    grave = counts["high"] + counts["critical"]
    tell(f"Console: {counts['total']} packages with known vulnerabilities ({grave} grave).")
    return FOUND if counts["total"] else 0


def main(folder: str) -> int:
    place = (ROOT / folder).resolve()
    codes = {python_packages(place / "audit"), console_packages(place / "bin")}
    return FOUND if FOUND in codes else max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
