"""Runs every benchmark, one after the other: ``python -m bench [--quick]``.

Exits with 1 when a bar was missed, and with 2 when none was but some could not be judged.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


NOT_JUDGED = 2


def main() -> int:
    missed, unjudged = [], []
    for program in sorted(HERE.glob("[a-z]*.py")):
        print(f"\n== {program.stem} ==", flush=True)
        code = subprocess.run([sys.executable, str(program), *sys.argv[1:]]).returncode
        if code:
            (unjudged if code == NOT_JUDGED else missed).append(program.stem)
    print(f"\nbars missed: {', '.join(missed) or 'none'}; not judged: {', '.join(unjudged) or 'none'}")
    return 1 if missed else NOT_JUDGED if unjudged else 0


if __name__ == "__main__":
    sys.exit(main())
