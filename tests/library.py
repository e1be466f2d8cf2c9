#!/usr/bin/env python3
"""What the shared library is to others: what it makes a program load.
usage: library.py LIBRARY; exit 1 and a line each for what is wrong."""
import re, subprocess, sys

# libc's and libm's own, and the loader. FLINT and GMP may load what they like.
SYSTEM = {"linux-vdso", "ld-linux-x86-64", "ld-linux-aarch64", "libc", "libm", "libpthread"}
ARITHMETIC = {"libflint", "libflint-arb", "libarb", "libgmp"}
library = sys.argv[1]
wrong = []


def loaded(path):
    """What ldd says a file makes the loader load: {name without version: path}."""
    out = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    return {re.split(r"\.so", line.split()[0].rsplit("/", 1)[-1])[0]: line.split()[2] if "=>" in line else None
            for line in out.splitlines()}


def what_is_loaded():
    libraries = loaded(library)
    allowed = SYSTEM | ARITHMETIC
    for name in ARITHMETIC & libraries.keys():
        allowed |= loaded(libraries[name]).keys()
    if not {"libflint", "libgmp", "libc"} <= libraries.keys():
        wrong.append(f"ldd names {sorted(libraries)}, and not even FLINT, GMP and libc among them")
    wrong.extend(f"it loads {name}" for name in sorted(libraries.keys() - allowed))


what_is_loaded()
for line in wrong:
    print(f"library: {line}")
sys.exit(bool(wrong))
