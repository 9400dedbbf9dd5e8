"""Runs every benchmark, one after the other: ``python -m bench [--quick]``. The exit code tells a missed bar."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    missed = []
    for program in sorted(HERE.glob("[a-z]*.py")):
        print(f"\n== {program.stem} ==", flush=True)
        if subprocess.run([sys.executable, str(program), *sys.argv[1:]]).returncode != 0:
            missed.append(program.stem)
    print(f"\nbars missed: {', '.join(missed) or 'none'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
