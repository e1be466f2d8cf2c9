#!/bin/sh
# Installs what building and testing need and the machine lacks; says what; does nothing when nothing is missing.
# usage: tools/setup.sh [build|check]
set -eu

want="meson ninja-build pkg-config gcc libc6-dev libflint-dev libflint-arb-dev cadical"
[ "${1:-build}" = check ] && want="$want libcmocka-dev python3 libopenmpi-dev openmpi-bin libsqlite3-dev"

# Present: by command or header, so that a hand-installed tool counts too.
have() {
    case $1 in
    ninja-build) command -v ninja ;;
    libc6-dev) echo '#include <stdint.h>' | cc -E - ;;
    libflint-dev) echo '#include <flint/fmpz.h>' | cc -E - ;;
    # Arb is a part of FLINT from its version 3 on.
    libflint-arb-dev) echo '#include <arb.h>' | cc -E - || echo '#include <flint/arb.h>' | cc -E - ;;
    libopenmpi-dev) pkg-config --exists ompi-c || pkg-config --exists mpich ;;
    openmpi-bin) command -v mpirun ;;
    libsqlite3-dev) echo '#include <sqlite3.h>' | cc -E - ;;
    libcmocka-dev) [ -f /usr/include/cmocka.h ] || pkg-config --exists cmocka ;;
    *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

missing=
for p in $want; do have "$p" || missing="$missing $p"; done
[ -z "$missing" ] && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: please install these packages, then run the same command again:$missing" >&2
    echo "setup: on Debian, as root:  apt-get install$missing" >&2
    exit 1
fi
echo "setup: installing$missing" >&2
install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"; }
# What this system has packages of: with FLINT 3 there is none for Arb.
known() { for p; do [ "$p" != libflint-arb-dev ] || apt-cache show "$p" >/dev/null 2>&1 || continue; echo "$p"; done; }
log=$(mktemp)
if ! { install $missing || { apt-get update -q && install $(known $missing); }; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "setup: apt-get could not install:$missing" >&2
    rm -f "$log"
    exit 1
fi
rm -f "$log"
