#!/bin/sh
# Prints, for every theorem of Statements.v, what Coq says that it rests on; fails unless that is nothing.
cd "$(dirname "$0")" || exit 2
names=$(sed -n 's/^Theorem \([^ ]*\).*/\1/p' Statements.v)
{
    echo "From Hopbound Require Import Statements."
    for name in $names; do echo "Print Assumptions $name."; done
} >Assumptions.v
said=$(coqc -w -notation-overridden,-ambiguous-paths -Q . Hopbound Assumptions.v) || exit 1
count=$(echo "$names" | wc -l)
if [ "$(echo "$said" | grep -c '^Closed under the global context$')" -ne "$count" ] || [ "$(echo "$said" | wc -l)" -ne "$count" ]; then
    echo "$said"
    echo "proofs: a theorem of Statements.v is not closed" >&2
    exit 1
fi
for name in $names; do printf '%-24s Closed under the global context\n' "$name"; done
