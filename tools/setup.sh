#!/bin/sh
# Installs what building and testing need and the machine lacks; says what; does nothing when nothing is missing.
# usage: tools/setup.sh [build|check|ci|hf|pdf]; ci: what continuous integration runs besides `make check`; hf: PyTorch and
# transformers, which `check` installs, too; pdf: what `make bounds-pdf` takes
set -eu

want="meson ninja-build pkg-config gcc libc6-dev libflint-dev libflint-arb-dev cadical"
case ${1:-build} in check | hf) want="$want libcmocka-dev python3 libopenmpi-dev openmpi-bin libsqlite3-dev" ;; esac
[ "${1:-build}" = pdf ] && want="chromium"
[ "${1:-build}" = ci ] && want="$want clang libopenmpi-dev libsqlite3-dev"

# A compiled file of MathComp, under Coq's own library.
mathcomp() { command -v coqc && [ -f "$(coqc -where)/user-contrib/mathcomp/$1.vo" ]; }

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
    coq) command -v coqc ;;
    libcoq-mathcomp-ssreflect) mathcomp ssreflect/all_ssreflect ;;
    libcoq-mathcomp-algebra) mathcomp algebra/ssralg ;;
    ocaml-findlib) command -v ocamlfind ;;
    ocaml) command -v ocamlopt ;;
    nodejs) command -v node ;;
    chromium) command -v chromium || command -v chromium-browser || command -v google-chrome ;;
    libcmocka-dev) [ -f /usr/include/cmocka.h ] || pkg-config --exists cmocka ;;
    *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"; }
# What this system has packages of: with FLINT 3 there is none for Arb.
known() { for p; do [ "$p" != libflint-arb-dev ] || apt-cache show "$p" >/dev/null 2>&1 || continue; echo "$p"; done; }
lacking() { for p; do have "$p" || printf ' %s' "$p"; done; }
may_install() { [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT

missing=$(lacking $want)
if [ -n "$missing" ]; then
    if ! may_install; then
        echo "setup: please install these packages, then run the same command again:$missing" >&2
        echo "setup: on Debian, as root:  apt-get install$missing" >&2
        exit 1
    fi
    echo "setup: installing$missing" >&2
    if ! { install $missing || { apt-get update -q && install $(known $missing); }; } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "setup: apt-get could not install:$missing" >&2
        exit 1
    fi
fi

# PyTorch and transformers in a directory of their own, beside the machine's own, for the tests that compare with them. Without PyPI
# these are skipped, so lacking it is no failure. A directory that was cut off while it was filled is made anew.
beside_transformers() {
    hf=${HOPBOUND_HF:-$(dirname "$0")/../build-hf}
    [ ! -f "$hf/complete" ] || [ "$(cat "$hf/complete")" != "$1" ] || return 0
    echo "setup: PyTorch and transformers go to $hf" >&2
    rm -rf "$hf"
    if python3 -m venv "$hf" >"$log" 2>&1 && "$hf/bin/pip" install --quiet --retries 1 --timeout 30 $1 >"$log" 2>&1; then
        echo "$1" >"$hf/complete"
    else
        tail -n 2 "$log" >&2
        rm -rf "$hf"
        echo "setup: networks will not be compared with transformers: PyPI could not be had" >&2
    fi
}
case ${1:-build} in check | hf) beside_transformers "torch==2.13.0 transformers>=5.15 numpy" ;; esac

# For docs/BOUNDS.md on paper: what makes a page of it, in a directory of its own, and what prints the page, which `want` has.
if [ "${1:-build}" = pdf ] && ! python3 -c 'import markdown' >/dev/null 2>&1; then
    pdf=${HOPBOUND_PDF:-$(dirname "$0")/../build-pdf}
    if [ ! -f "$pdf/complete" ]; then
        rm -rf "$pdf"
        python3 -m venv "$pdf" >"$log" 2>&1 && "$pdf/bin/pip" install --quiet --retries 1 --timeout 30 "markdown>=3.4" >"$log" 2>&1 &&
            touch "$pdf/complete" || { tail -n 2 "$log" >&2; rm -rf "$pdf"; echo "setup: PyPI could not be had" >&2; exit 1; }
    fi
fi
[ "${1:-build}" = check ] || exit 0

# For the proofs in Coq and the checker extracted from them. Without it that test is skipped, so lacking it is no failure.
coq="coq libcoq-mathcomp-ssreflect libcoq-mathcomp-algebra ocaml-findlib ocaml"
missing=$(lacking $coq)
if [ -n "$missing" ] && may_install; then
    echo "setup: installing$missing" >&2
    { install $missing || { apt-get update -q && install $missing; }; } >"$log" 2>&1 || true
    missing=$(lacking $coq)
fi
[ -z "$missing" ] || echo "setup: the proofs will not be checked: no$missing" >&2

# For the Python package. Without numpy its tests are skipped, so lacking it is no failure.
if ! python3 -c 'import numpy' >/dev/null 2>&1 && may_install; then
    echo "setup: installing python3-numpy" >&2
    { install python3-numpy || { apt-get update -q && install python3-numpy; }; } >"$log" 2>&1 || true
fi
python3 -c 'import numpy' >/dev/null 2>&1 || echo "setup: the Python package will not be tested: no numpy" >&2

# For the ladder's page in a browser. Without it that test is skipped, so lacking it is no failure.
missing=$(lacking chromium nodejs npm)
if [ -n "$missing" ] && may_install; then
    echo "setup: installing$missing" >&2
    { install $missing || { apt-get update -q && install $missing; }; } >"$log" 2>&1 || true
    missing=$(lacking chromium nodejs npm)
fi
page=$(dirname "$0")/../tests/page
if [ -n "$missing" ]; then
    echo "setup: the test of the page will be skipped: no$missing" >&2
elif [ ! -d "$page/node_modules/playwright-core" ]; then
    echo "setup: installing npm packages for tests/page" >&2
    (cd "$page" && npm install --no-package-lock --no-audit --no-fund --ignore-scripts) >"$log" 2>&1 ||
        echo "setup: npm could not install what tests/page/package.json names; the test of the page will be skipped" >&2
fi
