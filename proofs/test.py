#!/usr/bin/env python3
"""Tests of proofs/, after `make`: certificates.txt is accepted by hopbound-checker and is what the instances prove; what is
one bit or one size beyond is rejected, by the checker and by coqc; the checker agrees with plain integer arithmetic.
usage: test.py [--make]   (--make: run make first; exit 77, which is "skipped", where there is no coqc)"""
import pathlib, random, re, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import instances

CHECKER = HERE / "checker/hopbound-checker"

def run(*words, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)

def certificates():
    """{name: line}"""
    out, name = {}, None
    for line in (HERE / "certificates.txt").read_text().splitlines():
        if line.startswith("# "):
            name = line[2:]
        elif line.startswith("impossible"):
            out[name] = line
    return out

def verdicts(lines):
    """accepted, rejected or malformed, line by line."""
    said = run(CHECKER, "-", input="".join(line + "\n" for line in lines))
    return [word.split()[0].rstrip(":") for word in said.stdout.splitlines()], said.returncode

def changed(line, field, by):
    """The certificate with one number changed: field is m, M, n1.. , A0.. or c0.. (the c-th integer after the theorem)."""
    m, fans, M, widths, theorem, rest = instances.LINE.fullmatch(line).groups()
    parts = {"m": [m], "n": fans.split(), "M": [M], "A": widths.split(), "c": rest.split()}
    key, at = field[0], int(field[1:] or 0) - (field[0] == "n")
    parts[key][at] = str(int(parts[key][at]) + by)
    words = ["impossible", "m", *parts["m"], "fan", *parts["n"], "M", *parts["M"], "A", *parts["A"], "by", theorem, *parts["c"]]
    return " ".join(words)

# Of certificate `name`, change `field` by `keeps`: accepted. By `breaks`, the next integer: rejected.
EDGES = [
    ("one_hop_F", "M", 3, 4), ("one_hop_L", "A0", 83, 84), ("two_hops_LLL", "A0", 53959, 53960),
    ("two_hops_LFL_304", "M", 2, 3), ("two_hops_LFL_304", "A0", 0, 1), ("two_hops_LFL_304", "A1", 0, 1),
    ("two_hops_LFL_304", "m", 0, -1), ("two_hops_LFL_304", "n1", 0, -1), ("two_hops_LFL_304", "c0", 0, 1),
    ("two_hops_LFL_160_P4", "M", 0, 1), ("two_hops_LFL_160_P4", "A0", 1, 2), ("two_hops_LFL_160_P4", "A1", 2, 3),
    ("two_hops_FF_160", "M", 0, 1), ("two_hops_FF_160", "A0", 0, 1), ("two_hops_FF_160", "A1", 0, 1),
    ("two_hops_FF_160", "A2", 0, 1), ("two_hops_FF_160", "m", 0, -1), ("two_hops_FF_160", "n1", 0, -1),
    ("two_hops_FF_160", "c5", 0, 1), ("two_hops_FFL_160", "A2", 0, 1), ("two_hops_FFL_160", "M", 0, 1),
    ("three_hops_FF_160", "M", 0, 1), ("three_hops_FF_160", "A0", 0, 1), ("three_hops_FF_160", "n2", 0, -1),
    ("three_hops_FLF_160", "A1", 0, 1), ("three_hops_FLF_160", "c6", 0, 1), ("three_hops_FF_464", "M", 0, 1),
    ("two_hops_LFL_large_states", "M", 0, 1), ("two_hops_LFL_large_states", "A1", 10633205202, 10633205203), ("three_hops_LFLFL_160_P6", "M", 0, 1),
    ("three_hops_LFLFL_160_P6", "A0", 0, 1), ("three_hops_LFLFL_160_P6", "A1", 2536611494261, 2536611494262),
    ("three_hops_LFLFL_160_P6", "n2", 0, -1), ("three_hops_LFLFL_160_P6", "m", -36867, -36868),
    ("four_hops_LFLFLFL_160", "A1", 89245592380806108950809476765416526, 89245592380806108950809476765416527),
    ("four_hops_LFLFLFL_160", "M", 0, 1), ("three_hops_FFF_160", "M", 0, 1), ("three_hops_FFF_160", "A0", 0, 1),
    ("three_hops_FFF_160", "A1", 0, 1), ("three_hops_FFLFL_160", "A2", 1, 2), ("four_hops_FFFF_160", "M", 0, 1),
    ("two_hops_LFL_8", "M", 0, 1), ("two_hops_LFL_8", "c7", 0, 1), ("two_hops_LFL_8", "A0", 0, 1), ("two_hops_LFL_8", "A1", 0, 1),
    ("two_hops_LFL_160", "M", 0, 1), ("two_hops_LFL_160", "A0", 0, 1), ("two_hops_LFL_160", "A1", 1, 2),
    ("two_hops_LFL_160", "m", 0, -1), ("three_hops_LFLFL_160", "c6", 0, 1), ("three_hops_FLFL_160", "c6", 0, 1),
    ("three_hops_FLFL_160", "A0", 0, 1), ("two_hops_LF_one_value", "n1", 0, -1), ("two_hops_LF_one_value", "c0", 0, -1),
    ("two_hops_LF_one_value", "A0", 0, 1), ("five_hops_LFLFLFLFL_160", "n4", 0, -1), ("five_hops_LFLFLFLFL_160", "M", 0, 1),
]

# Not a certificate of what it claims, or of nothing at all.
REJECTED = [
    "impossible m 173 fan M 304 A 208 208 by P4 76",                      # P4 needs two hops
    "impossible m 173 fan 0 26 M 304 A 208 208 by P4 76",                 # n_1 = 0
    "impossible m 173 fan 26 0 M 304 A 208 208 by P4 76",                 # two hops of three, and the third is empty
    "impossible m 173 fan 26 M 304 A 208 208 208 by P4 76",               # two full layers
    "impossible m 173 fan 26 M 304 A 208 by P4 76",                       # none
    "impossible m 0 fan 26 M 304 A 208 208 by P4 0",
    "impossible m 0 fan M 0 A 0 by P2",                                   # 1 < 0^0 = 1 is false
    "impossible m 1 fan M 0 A 0 by P2",                                   # one value: solved by saying it
    "impossible m 35 fan M 179 A 0 1 by P5",                              # L after F may help
    "impossible m 35 fan M 179 A 1 0 by P5",
    "impossible m 224 fan 510 2 M 160 A 0 0 0 by P9 1 14 16 32 1 510 274",  # fans the other way round
]
MALFORMED = [
    "impossible m 173 fan 26 M 304 A 208 208 by P4", "impossible m 173 fan 26 M 304 A 208 208 by P44 76",
    "impossible m -1 fan 26 M 304 A 208 208 by P4 76", "impossible m 173 fan 26 M 304 A 208 208", "possible",
    "impossible m 1 2 fan 26 M 304 A 208 208 by P4 76", "impossible m 173 fan 2 M 1 A 0 0 by P6 1 2",
    "impossible m 173 fan 26 M 304 A 208 208 by P4' 1 1 1 1 1 1 lines 1 1 1 1", "impossible m 173 fan 2 M 1 A 0 0 by P4 1 2",
]

def exact(line):
    """The conditions of P2, P4, P5, P7 and P9, at integers, as docs/BOUNDS.md has them."""
    m, fans, M, A, by, c = instances.LINE.fullmatch(line).groups()
    m, M, fans, A, c = int(m), int(M), [int(v) for v in fans.split()], [int(v) for v in A.split()], [int(v) for v in c.split()]
    if by == "P2":
        for n in fans:
            m *= n
        return 2 ** A[0] < m ** m
    if by == "P5":
        return A == [0, 0] and 2 ** M < m ** m
    if by == "P4":
        n, V = fans[0], c[0]
        return max(V - 1, 0) ** m * 2 ** A[0] < m ** m and 2 ** (n * M + V * A[1] + A[0]) < (m * n) ** (n * V)
    if by == "P7":
        n, (t, s, q, g, e, Y) = fans[0], c
        return (A[0] == 0 and t * s <= m and t * q <= m and e * g <= n
                and max(Y - 1, 0) ** (t * s) * 2 ** (g * M + t * s * A[1]) < (t * q) ** (t * s)
                and 2 ** (M * (t * s * q + m + e * g + e * g * t) + A[1] + e * Y * A[2]) < (m * n) ** (e * g * Y))
    (n1, n2), (u, t, s, q, g, e, Y) = fans, c
    label = u * g * M + min(t * s * A[1], A[1] + t * s * M)
    bits = M * (u * t * s * q + max(m * n1 - u * t * s, 0) + m + t * s + u * e * g * (1 + t)) + A[1] + e * Y * A[2]
    return (A[0] == 0 and u <= n1 and t * s <= m and u * t * q <= m * n1 and e * g <= n2
            and max(Y - 1, 0) ** (u * t * s) * 2 ** label < (u * t * q) ** (u * t * s)
            and 2 ** bits < (m * n1 * n2) ** (e * g * Y))

def near(line, rng):
    """One to three numbers moved by a little."""
    fields = ["m", "M"] + [f"n{i + 1}" for i in range(len(instances.LINE.fullmatch(line).group(2).split()))]
    fields += [f"A{i}" for i in range(len(instances.LINE.fullmatch(line).group(4).split()))]
    fields += [f"c{i}" for i in range(len(instances.LINE.fullmatch(line).group(6).split()))]
    for _ in range(rng.randint(1, 3)):
        line = changed(line, rng.choice(fields), rng.choice([-2, -1, 1, 2]))
        if "-" in line:
            return None
    return line

def test_checker(wrong):
    known = certificates()
    said, status = verdicts(known.values())
    if said != ["accepted"] * len(known) or status != 0:
        wrong.append("certificates.txt is not accepted")
    for name, field, keeps, breaks in EDGES:  # those that keep it as it is were accepted above
        said, status = verdicts([changed(known[name], field, by) for by in (keeps, breaks) if by])
        if said != ["accepted"] * (keeps != 0) + ["rejected"] or status != 1:
            wrong.append(f"{name}, {field} {keeps:+} and {breaks:+}: {said}")
    for lines, word, code in ((REJECTED, "rejected", 1), (MALFORMED, "malformed", 2)):
        for line in lines:
            said, status = verdicts([line])
            if said != [word] or status != code:
                wrong.append(f"not {word}: {line}")
    small = [known[n] for n in ("one_hop_F", "one_hop_L", "two_hops_LLL", "two_hops_LFL_304", "two_hops_LFL_160_P4",
                                "two_hops_FF_160", "three_hops_FF_160")]
    more = {"fan 26 2 M": "fan 26 M"}  # more hops, and what it rests on
    rng, lines = random.Random(1), []
    while len(lines) < 400:
        line = near(rng.choice(small), rng)
        lines += [line] if line else []
    said, _ = verdicts(lines)
    for line, word in zip(lines, said):
        if (word == "accepted") != exact(line):
            wrong.append(f"{word}, but integers say {exact(line)}: {line}")
    for long, short in more.items():
        line = known["two_hops_LFL_304"].replace(short, long)
        if verdicts([line])[0] != ["accepted"]:
            wrong.append(f"more hops: {line}")
    print(f"checker: {len(known)} certificates, {len(EDGES)} edges, {len(REJECTED)} rejected, {len(MALFORMED)} malformed, "
          f"{len(lines)} against integers ({said.count('accepted')} accepted)")

HEAD = "From Coq Require Import NArith.\nFrom mathcomp Require Import all_ssreflect.\nFrom Hopbound Require Import Check.\n"

def test_coq(wrong):
    """What Coq takes and what not: theorems as `bound --coq` writes them, and such as claim more than their certificate."""
    known = certificates()
    good = [known["two_hops_LFL_304"], known["three_hops_FF_160"]]
    files = [(True, instances.theorem(line, "verdict")) for line in good]
    for name, field, _, breaks in [e for e in EDGES if e[0] in ("one_hop_F", "two_hops_LFL_304", "three_hops_FF_160")]:
        files.append((False, instances.theorem(changed(known[name], field, breaks), "verdict")))
    claim = instances.theorem(known["two_hops_LFL_304"], "verdict")
    for old, new in (("%:173", "%:172"), ("%:26", "%:25"), ("[:: %:208; %:208]", "[:: %:208; %:208; %:0]")):
        files.append((False, claim.replace(old, new, 1)))  # the certificate stays
    with tempfile.TemporaryDirectory() as tmp:
        for i, (right, text) in enumerate(files):
            file = pathlib.Path(tmp) / f"verdict{i}.v"
            file.write_text(HEAD + text + "Print Assumptions verdict.\n")
            said = run("coqc", "-w", "none", "-Q", HERE, "Hopbound", file)
            if (said.returncode == 0) != right or right and said.stdout.strip() != "Closed under the global context":
                wrong.append(f"coqc {'rejects' if right else 'accepts'}: {text}{said.stdout}{said.stderr}")
    print(f"coqc: {sum(r for r, _ in files)} theorems accepted, {sum(not r for r, _ in files)} false ones rejected")

def test_forbidden(wrong):
    """forbidden.sh sees what is assumed or left open."""
    lines = ["Axiom a : False.", "Lemma a : False. Admitted.", "Lemma a : False. Proof. admit. Qed.", "Parameter a : False.",
             "Unset Guard Checking."]
    with tempfile.TemporaryDirectory() as tmp:
        for name in ("forbidden.sh", "_CoqProject", "Model.v"):
            shutil.copy(HERE / name, tmp)
        if run(pathlib.Path(tmp) / "forbidden.sh").returncode != 0:
            wrong.append("forbidden.sh dislikes Model.v")
        for line in lines:
            (pathlib.Path(tmp) / "New.v").write_text(line + "\n")
            if run(pathlib.Path(tmp) / "forbidden.sh").returncode == 0:
                wrong.append(f"forbidden.sh does not see {line}")
    print(f"forbidden: {len(lines)} seen")

def main():
    if not shutil.which("coqc"):
        print("proofs: skipped, no coqc (Debian: coq libcoq-mathcomp-ssreflect libcoq-mathcomp-algebra ocaml-findlib ocaml)")
        sys.exit(77)
    if "--make" in sys.argv[1:]:
        made = subprocess.run(["make", "-C", str(HERE), "--no-print-directory"])
        if made.returncode:
            sys.exit(1)
    wrong = []
    if run(sys.executable, HERE / "instances.py", "--check").returncode:
        wrong.append("the instances are not those of certificates.txt: run proofs/instances.py")
    test_forbidden(wrong)
    test_coq(wrong)
    if CHECKER.exists():
        test_checker(wrong)
    else:
        print("checker: skipped, it was not built (no ocamlfind)")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"proofs: {len(wrong)} wrong")
    sys.exit(bool(wrong))

if __name__ == "__main__":
    main()
