#!/usr/bin/env python3
"""Closed Coq theorems from certificates.txt: one file a group. With --check, says which file differs from what would be
written (exit 1). As a module: `theorem(line, name)` gives the Coq text of one certificate."""
import pathlib, re, sys

HERE = pathlib.Path(__file__).resolve().parent
LINE = re.compile(r"impossible m (\d+) fan((?: \d+)*) M (\d+) A((?: \d+)*) by (\S+)(.*)")
HEAD = """(** * {title}

    Written by instances.py from certificates.txt: M message bits, state bits block by block; fans last table first. *)

From Coq Require Import NArith.
From mathcomp Require Import all_ssreflect.
From Hopbound Require Import Check.
"""

def listed(words, per):
    """A Coq list of tuples of `per` numbers."""
    rows = [", ".join(words[i:i + per]) for i in range(0, len(words), per)]
    return "[:: " + "; ".join(f"({r})" if per > 1 else r for r in rows) + "]" if rows else "[::]"

def way(words):
    if words[0] == "climb":
        return f"(Climb {listed(words[1:], 3)})"
    return f"(Lines {' '.join(words[1:6])} {listed(words[6:], 3)})"

def term(name, words):
    if name in ("P6", "P7G"):
        return f"(by{name} {words[0]} {listed(words[1:], 2)})"
    cut = next((i for i, w in enumerate(words) if w in ("lines", "climb")), len(words))
    parts = [f"by{name}", *words[:cut], *([way(words[cut:])] if cut < len(words) else [])]
    return f"({' '.join(parts)})" if len(parts) > 1 else parts[0]

def theorem(line, name):
    m, fans, M, widths, by, rest = LINE.fullmatch(line.strip()).groups()
    fans, widths = fans.split()[::-1], widths.split()
    nat = lambda words: listed([f"%:{w}" for w in words], 1)
    return (f"Theorem {name} : impossible %:{m} {nat(fans)} %:{M} {nat(widths)}.\n"
            f"Proof. apply: (@check_sound {m} {listed(fans, 1)} {M} {listed(widths, 1)} {term(by, rest.split())})%num. "
            "vm_cast_no_check (erefl true). Qed.\n")

def length(line):
    """n of the prompt: N_(L-1) + .. + N_0 + 2."""
    m, fans = LINE.fullmatch(line.strip()).groups()[:2]
    sizes = [int(m)]
    for n in fans.split():
        sizes.append(sizes[-1] * int(n))
    return sum(sizes) + 2

def files():
    """{file name: text} of all groups."""
    out, group, name = {}, None, None
    for line in (HERE / "certificates.txt").read_text().splitlines():
        if line.startswith("## "):
            group, title = line[3:].split(": ", 1)
            out[group + ".v"] = HEAD.format(title=title)
        elif group and line.startswith("# "):
            name = line[2:]
        elif line:
            if line.startswith("impossible"):
                n = length(line)
                shown = f"{n:,}" if n < 10 ** 15 else f"10^{len(str(n)) - 1} and more"
                by = LINE.fullmatch(line).group(5)
                out[group + ".v"] += f"\n(** n = {shown}, by {by} *)\n" + theorem(line, name)
    return out

def main():
    check, bad = sys.argv[1:] == ["--check"], 0
    for name, text in files().items():
        file = HERE / name
        if not check:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            print(f"proofs/{name} is not what instances.py writes")
            bad += 1
    sys.exit(bad != 0)

if __name__ == "__main__":
    main()
