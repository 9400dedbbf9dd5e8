"""Write pins/npm.json: every package that the console is built with, its version and the SHA-512 of its archive.

    python tools/pin_npm.py [NPM]

The versions that console/package.json does not name are the newest that fit, as the registry of npm's settings has them
today. The file has the form of npm's own lock, without a single address: tools/build_console.sh hands it to `npm ci`,
which refuses an archive that is not the pinned one before anything of it is unpacked or run. Native parts that the
registry does not have are left out; who builds on such a platform does so with PINS=versions.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ROOT / "console" / "package.json"
PINNED = ROOT / "pins" / "npm.json"
_KEPT = ("version", "integrity", "dependencies", "optionalDependencies", "peerDependencies", "peerDependenciesMeta")
_KEPT += ("dev", "optional", "devOptional", "peer", "os", "cpu", "libc", "bin", "engines", "hasInstallScript")
"""What npm goes by when it installs. Licences and who asks for money are not."""


def main(npm: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(PACKAGES, folder)
        asked = ("install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        command = [npm, *asked, "--cache", f"{folder}/cache"]
        subprocess.run(command, cwd=folder, check=True)  # noqa: S603  # npm, as whoever runs this says
        lock = json.loads((Path(folder) / "package-lock.json").read_text())
    PINNED.write_text(json.dumps(pins_of(lock), indent=1, ensure_ascii=False) + "\n")
    return 0


def pins_of(lock: dict[str, Any]) -> dict[str, Any]:
    """npm's lock with what is pinned, and no addresses; a package without a strong digest is an error."""
    packages = lock["packages"]
    weak = [path for path, said in packages.items() if path and not said.get("integrity", "").startswith("sha512-")]
    if weak:
        raise SystemExit(f"The registry tells no SHA-512 of: {', '.join(weak)}")
    kept = {path: {key: said[key] for key in _KEPT if key in said} for path, said in packages.items() if path}
    names = {path.rpartition("node_modules/")[2] for path in kept}
    for said in kept.values():  # else npm would miss them in the file, where a registry has them
        if optional := said.pop("optionalDependencies", None):
            said["optionalDependencies"] = {name: version for name, version in optional.items() if name in names}
    root = {key: packages[""][key] for key in ("dependencies", "devDependencies") if key in packages[""]}
    head = {key: lock[key] for key in ("name", "lockfileVersion")}
    return {**head, "requires": True, "packages": {"": {"name": head["name"], **root}, **kept}}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "npm"))
