#!/bin/sh
# Every public header compiles alone, as C11 and as C++, without those that only rooms have (src/include), which do so
# as well; and the version is the same everywhere.
# usage: check_headers.sh SOURCE_ROOT VERSION CC..
set -u
root=$1 version=$2
shift 2
count=0 bad=0
for h in "$root"/include/hopbound/*.h "$root"/src/include/hopbound/*.h; do
    count=$((count + 1))
    case $h in */src/include/*) inside=-I$root/src/include ;; *) inside= ;; esac
    "$@" -std=c11 -Wall -Wextra -Werror -Wno-psabi -I"$root/include" $inside -fsyntax-only -x c "$h" || bad=$((bad + 1))
    if command -v g++ >/dev/null 2>&1; then
        g++ -std=c++17 -Wall -I"$root/include" $inside -fsyntax-only -x c++ "$h" 2>&1 | grep -v 'pragma once in main' && bad=$((bad + 1))
    fi
done
grep -q "\"$version\"" "$root/include/hopbound/version.h" || { echo "version.h is not $version"; bad=$((bad + 1)); }
grep -q "^## $version" "$root/CHANGELOG.md" || { echo "CHANGELOG.md has no $version"; bad=$((bad + 1)); }
echo "headers: $count compiled alone, $bad problems"
[ "$count" -gt 0 ] && [ "$bad" -eq 0 ]
