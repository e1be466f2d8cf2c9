#!/usr/bin/env python3
"""The programs of examples/ against the library as it is installed, found by pkg-config alone: each is compiled without a
warning, prints what a reader is told it does, and returns 0. usage: example.py BUILD_DIR CC.."""
import os, pathlib, re, subprocess, sys, tempfile

build, cc = pathlib.Path(sys.argv[1]), sys.argv[2:]
examples = pathlib.Path(__file__).resolve().parent.parent / "examples"
SAYS = {"two_hops": [r"^L F L: 2 hops are impossible within 32768 tokens, by P4:", r"^L F F: proved for 10\^667\.1 inputs$"]}
LINES = 30


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


wrong = []
with tempfile.TemporaryDirectory() as root:
    run("meson", "install", "-C", build, "--no-rebuild", "--tags", "devel,runtime", "--destdir", root)
    found = [p.parent for p in pathlib.Path(root).rglob("hopbound.pc")]
    place = {**os.environ, "PKG_CONFIG_PATH": str(found[0]), "PKG_CONFIG_SYSROOT_DIR": root}
    flags = run("pkg-config", "--cflags", "--libs", "hopbound", env=place).split()
    for source in sorted(examples.glob("*.c")):
        program = pathlib.Path(root) / source.stem
        if len(source.read_text().splitlines()) > LINES:
            wrong.append(f"{source.name}: more than {LINES} lines")
        run(*cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", program, source, *flags)
        said = run(program, env={**os.environ, "LD_LIBRARY_PATH": str(found[0].parent)})
        print(f"{source.stem}:\n{said}", end="")
        wrong += [f"{source.name} does not say {line}" for line in SAYS[source.stem] if not re.search(line, said, flags=re.M)]
    missing = SAYS.keys() - {p.stem for p in examples.glob("*.c")}
    wrong += [f"there is no {name}.c" for name in missing]
print(*wrong, sep="\n")
sys.exit(bool(wrong))
