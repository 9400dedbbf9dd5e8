#!/bin/sh
# Makes a virtual environment with a current pip: tools/python_environment.sh DIRECTORY
# A working one is kept. PYTHON names the interpreter; otherwise the first that is new enough is taken.
set -eu
cd "$(dirname "$0")/.."
venv=$1
candidates="${PYTHON:-python3 python3.13 python3.12 python3.11 python}"

# Run it, do not only look for it: version managers leave commands on PATH that only print an error.
new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    for candidate in $candidates; do
        if new_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    echo "Orth needs Python 3.11 or newer. Found:" >&2
    for candidate in $candidates; do
        echo "  $candidate: $("$candidate" --version 2>/dev/null || echo none)" >&2
    done
    echo "Install one, or name it: make PYTHON=/path/to/python3.12" >&2
    return 1
}

make_environment() {
    python=$(find_python)
    rm -rf "$venv"
    if "$python" -c 'import ensurepip' 2>/dev/null; then
        "$python" -m venv "$venv"
    else
        # Debian keeps ensurepip in a package of its own (python3-venv); its pip can do without.
        "$python" -m venv --without-pip "$venv"
        "$python" -m pip --python "$venv/bin/python" install --quiet pip
    fi
}

if ! new_enough "$venv/bin/python"; then
    make_environment
fi
if [ "${PINS:-hashes}" = hashes ]; then
    set -- --require-hashes --requirement pins/pip.txt
else
    set -- --constraint constraints.txt pip
fi
"$venv/bin/python" -m pip --disable-pip-version-check install --quiet --upgrade "$@"
