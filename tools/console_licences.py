"""What is inside the built console, with versions and licences; and the notices that travel with it.

    python tools/console_licences.py FILE

writes the notices of everything that the console is made of to FILE: tools/build_console.sh puts them beside the files
of the console, so that they are wherever these are. The packages are those of pins/npm.json that are not only for
building; their licences are read where npm has put them.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PINNED = ROOT / "pins" / "npm.json"
INSTALLED = ROOT / "console"
_ONLY_FOR_BUILDING = ("dev", "devOptional")
_TEXTS = ("licence", "license", "copying", "notice", "copyright")
_RULE = "=" * 100


def shipped(pinned: Path = PINNED) -> dict[str, str]:
    """The packages in the console, by the folder npm puts each into, with their versions."""
    packages = json.loads(pinned.read_text())["packages"]
    return {
        folder: said["version"]
        for folder, said in sorted(packages.items())
        if folder and not any(said.get(mark) for mark in _ONLY_FOR_BUILDING)
    }


def name_of(folder: str) -> str:
    return folder.rpartition("node_modules/")[2]


def licence_of(folder: Path) -> str:
    """As the package says it."""
    said = json.loads((folder / "package.json").read_text()).get("license")
    if isinstance(said, dict):  # an old form
        said = said.get("type")
    return said if isinstance(said, str) and said else "not stated"


def rows(installed: Path = INSTALLED, pinned: Path = PINNED) -> list[tuple[str, str, str]]:
    """Each package once for each of its versions."""
    found = {(name_of(folder), version, licence_of(installed / folder)) for folder, version in shipped(pinned).items()}
    return sorted(found)


def notices(installed: Path = INSTALLED, pinned: Path = PINNED) -> str:
    """Name, version, licence and the words that each package wants to be passed on."""
    parts = ["The console of Orth contains the following software, each part under its own licence.\n"]
    for folder, version in shipped(pinned).items():
        package = installed / folder
        said = json.loads((package / "package.json").read_text())
        if said["version"] != version:
            raise SystemExit(f"{folder} is {said['version']}, and {version} is pinned.")
        parts.append(f"{_RULE}\n{name_of(folder)} {version}\n{licence_of(package)}\n{_RULE}\n")
        parts += [text.read_text(errors="replace").strip() + "\n" for text in _texts(package)] or [_author(said)]
    return "\n".join(parts)


def _texts(package: Path) -> list[Path]:
    found = (one for one in package.iterdir() if one.is_file() and one.name.lower().startswith(_TEXTS))
    return sorted(found)


def _author(said: dict[str, object]) -> str:
    author = said.get("author")
    name = author.get("name") if isinstance(author, dict) else author
    whose = name or f"the authors of {said['name']}"
    return f"Copyright: {whose}. The package has no text of its licence.\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(notices())
