#!/bin/sh
# Counts what the builds' test runs executed, from Meson's logs, and prints one line: 'N passed, M failed'.
# Fails when anything failed or nothing ran. usage: count_tests.sh BUILD..
set -eu
passed=0 failed=0
for b in "$@"; do
    log=$b/meson-logs/testlog.txt
    [ -f "$log" ] || { echo "count_tests: $log: no such file" >&2; exit 1; }
    # cmocka's own cases, the CLI's cases, replayed fuzz inputs, and every Meson test that has no cases of its own.
    p=$(grep -c '^\[       OK \]' "$log" || true)
    f=$(grep -c '^\[  FAILED  \] [a-z]' "$log" || true)
    cli=$(sed -n 's/^\([0-9]*\) passed, [0-9]* failed.*/\1/p' "$log" | awk '{s+=$1} END {print s+0}')
    clif=$(sed -n 's/^[0-9]* passed, \([0-9]*\) failed.*/\1/p' "$log" | awk '{s+=$1} END {print s+0}')
    inputs=$(sed -n 's/^\([0-9]*\) inputs replayed.*/\1/p' "$log" | awk '{s+=$1} END {print s+0}')
    echo "$b: $p unit cases, $cli command lines, $inputs fuzz inputs replayed"
    passed=$((passed + p + cli + inputs)) failed=$((failed + f + clif))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
