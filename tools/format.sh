#!/bin/sh
# clang-format over all C files, of the one version that .clang-format is written for: another makes other lines.
# usage: tools/format.sh write|check; check names the files that differ, exit 1 if there are any.
set -eu
cd "$(dirname "$0")/.."
version=14.0.6
own=build-format # PyPI's package of that version stands here, where the machine's own is another
format=clang-format

is_it() { "$1" --version 2>/dev/null | grep -q "version $version"; }
if ! is_it "$format"; then
    format=$own/bin/clang-format
    is_it "$format" || {
        echo "format: clang-format $version goes to $own" >&2
        python3 -m venv "$own" && "$own/bin/pip" install --quiet "clang-format==$version"
    } || { echo "format: no clang-format $version, and it could not be installed" >&2; exit 1; }
fi
case ${1:-check} in
write) git ls-files '*.[ch]' | xargs "$format" -i ;;
check) git ls-files '*.[ch]' | xargs "$format" --dry-run --Werror ;;
*) echo "usage: tools/format.sh write|check" >&2; exit 2 ;;
esac
