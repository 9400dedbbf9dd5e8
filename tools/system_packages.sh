#!/bin/sh
# Installs the servers and interpreters the tests need, where they are missing: tools/system_packages.sh [PYTHON]
# As root on a system with apt it installs them, without letting them start as services: the tests start their own.
# Otherwise it says what to install and goes on, for tests without theirs are skipped; with CI=true it fails.
set -eu
cd "$(dirname "$0")/.."
python=${1:-python3}
policy=/usr/sbin/policy-rc.d
log=$(mktemp)

missing_packages() {
    "$python" -m tests.servers.binaries | tr '\n' ' '
}

give_up() {
    echo "$1" >&2
    if [ "${CI:-}" = true ]; then
        exit 1
    fi
    echo "The tests that need them will be skipped." >&2
    exit 0
}

clean_up() {
    rm -f "$log"
    if [ -n "${made_policy:-}" ]; then
        rm -f "$policy"
    fi
}

forbid_services() {
    if [ ! -e "$policy" ]; then
        made_policy=yes
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
}

quietly() {
    if ! "$@" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        return 1
    fi
}

apt() {
    quietly env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"
}

trap clean_up EXIT
trap 'exit 130' INT TERM

missing=$(missing_packages)
if [ -z "$missing" ]; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    give_up "The tests need programs that are not installed. As root: apt-get install --no-install-recommends $missing"
fi
echo "Installing $missing"
forbid_services
# shellcheck disable=SC2086 # one word per package
if ! apt update || ! apt install --no-install-recommends $missing; then
    give_up "apt could not install $missing"
fi
missing=$(missing_packages)
if [ -n "$missing" ]; then
    give_up "Installed, and still not found: the programs of $missing"
fi
