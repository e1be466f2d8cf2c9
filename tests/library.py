#!/usr/bin/env python3
"""What the shared libraries are to others: what they make a program load, what they export, what they keep.
usage: library.py ROOT LIBRARY [LIBRARY-OF-ITS-OWN ..]; exit 1 and a line each for what is wrong."""
import pathlib, re, subprocess, sys

root, library, others = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
sys.path.insert(0, str(root / "tools"))
import symbols  # noqa: E402

# libc's and libm's own, and the loader. FLINT and GMP may load what they like.
SYSTEM = {"linux-vdso", "ld-linux-x86-64", "ld-linux-aarch64", "libc", "libm", "libpthread"}
ARITHMETIC = {"libflint", "libflint-arb", "libarb", "libgmp"}
# What compilers and their start-up code keep in every shared object.
COMPILERS = {"completed.0", "__TMC_END__", "__dso_handle", "__cpu_model", "__cpu_features2"}
wrong = []


def lines(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def loaded(path):
    """What ldd says a file makes the loader load: {name without version: path}."""
    return {re.split(r"\.so", line.split()[0].rsplit("/", 1)[-1])[0]: line.split()[2] if "=>" in line else None
            for line in lines("ldd", path)}


def what_is_loaded():
    libraries = loaded(library)
    allowed = SYSTEM | ARITHMETIC
    for name in ARITHMETIC & libraries.keys():
        allowed |= loaded(libraries[name]).keys()
    if not {"libflint", "libgmp", "libc"} <= libraries.keys():
        wrong.append(f"ldd names {sorted(libraries)}, and not even FLINT, GMP and libc among them")
    wrong.extend(f"it loads {name}" for name in sorted(libraries.keys() - allowed))


def exports(path):
    return {line.split()[-1] for line in lines("nm", "-D", "--defined-only", path)}


def what_is_exported():
    """hopbound.map, no more and no less; each function by one of the libraries. Those that were not built (no MPI, no
    SQLite) may lack."""
    seen = set()
    for path in (library, *others):
        wrong.extend(f"{path} exports {name} once more" for name in sorted(seen & exports(path)))
        seen |= exports(path)
    absent = set() if len(others) == 2 else {"hop_transport_mpi", "hop_store_sqlite"}
    wrong.extend(f"{name} is exported and not in hopbound.map" for name in sorted(seen - symbols.listed()))
    wrong.extend(f"{name} is in hopbound.map and not exported" for name in sorted(symbols.listed() - seen - absent))
    if symbols.main():
        wrong.append("hopbound.map is not what the public headers declare")


def what_is_kept_between_calls():
    """Variables that are neither constant nor on a stack: one, the choice of kernels (isa.h)."""
    sections = dict(re.findall(r"\[\s*(\d+)\]\s+(\S+)", "\n".join(lines("readelf", "-SW", library))))
    kept = {w[7] for w in map(str.split, lines("readelf", "-sW", library))
            if len(w) == 8 and w[3] in ("OBJECT", "TLS") and sections.get(w[6]) in (".bss", ".data", ".tbss", ".tdata")}
    if kept - COMPILERS != {"in_use"}:
        wrong.append(f"it keeps {sorted(kept - COMPILERS)} between calls, and should in_use alone")


def what_is_said_of_types():
    """docs/ABI.md has a row for every type that somebody must free or close."""
    page = (root / "docs/ABI.md").read_text()
    enders = {name for name in symbols.declared() if re.search(r"_(free|close|unlock)$", name)}
    rows = "\n".join(line for line in page.splitlines() if line.startswith("|"))
    wrong.extend(f"docs/ABI.md has no row with `{name}`" for name in sorted(enders) if f"`{name}`" not in rows)
    for header in sorted((root / "include/hopbound").glob("*.h")):
        for match in re.finditer(r"((?:/\*(?:(?!\*/).)*\*/\s*)?)typedef struct (hop_\w+) \2;([^\n]*)",
                                 header.read_text(), flags=re.S):
            if "thread" not in (match[1] + match[3]).lower():
                wrong.append(f"{header.name}: {match[2]} does not say which threads may use it")


what_is_loaded()
what_is_exported()
what_is_kept_between_calls()
what_is_said_of_types()
for line in wrong:
    print(f"library: {line}")
sys.exit(bool(wrong))
