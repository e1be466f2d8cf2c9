#!/usr/bin/env python3
"""The functions that the public headers declare, as hopbound.map lists them for the linker: what is exported.
usage: symbols.py [--write]; without it the file is compared, exit 1 and a line for each difference."""
import pathlib, re, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAP = ROOT / "hopbound.map"
HEAD = "/* What the libraries export: every function of include/hopbound, and no other. Written by tools/symbols.py --write. */\n"


def declared():
    """Functions of the installed headers."""
    names = set()
    for header in (ROOT / "include/hopbound").glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        text = re.sub(r"^\s*#(.*\\\n)*.*$", "", text, flags=re.M)
        names |= set(re.findall(r"^(?!typedef\b)\w[\w\s*]*?\b(hop_\w+)\s*\(", text, flags=re.M))
    return names


def listed():
    return set(re.findall(r"^\s+(hop_\w+);$", MAP.read_text(), flags=re.M))


def main():
    if "--write" in sys.argv[1:]:
        lines = "".join(f"        {name};\n" for name in sorted(declared()))
        MAP.write_text(f"{HEAD}{{\n    global:\n{lines}    local: *;\n}};\n")
    for name in sorted(declared() - listed()):
        print(f"symbols: {name} is declared in a public header and not in hopbound.map: tools/symbols.py --write")
    for name in sorted(listed() - declared()):
        print(f"symbols: {name} is in hopbound.map and in no public header: tools/symbols.py --write")
    return declared() != listed()


if __name__ == "__main__":
    sys.exit(main())
