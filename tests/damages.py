#!/usr/bin/env python3
"""Single-weight damages of every construction, and what prove, refute, run and check say of each.

Each damage is witnessed (refute found an input or a pair, and run errs on it), or proved harmless, or open. Any contradiction
fails: a witness beside a proof, a witness that run answers rightly, a sample that run gets wrong beside a proof, a witness that
`check` rejects. A few damages a kind by default; 500 a kind and 30 s for each that is not proved with HOPBOUND_LONG=1, which
takes an hour or so.

usage: damages.py HOPBOUND [COUNT [BUDGET]]"""
import collections, json, os, shutil, subprocess, sys, tempfile

LONG = os.environ.get("HOPBOUND_LONG") == "1"
KINDS = [("full", ["--hops", 2, "--m", 4, "--fan", 3]), ("hybrid", ["--hops", 2, "--m", 4, "--fan", 3]),
         ("linear", ["--hops", 2, "--m", 4, "--fan", 3]),
         ("mixed", ["--pattern", "F L F", "--hops", 2, "--m", 4, "--fan", 3]), ("cot", ["--hops", 2, "--m", 4, "--fan", 3]),
         ("encoder", ["--hops", 2, "--m", 4, "--fan", 3]), ("two-sum-full", ["--n", 12, "--mod", 8]),
         ("two-sum-sparse", ["--n", 12, "--mod", 8])]


def main():
    program = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 500 if LONG else 3
    budget = float(sys.argv[3]) if len(sys.argv) > 3 else 30 if LONG else 0.3
    os.chdir(tempfile.mkdtemp(prefix="hopbound-damages-"))
    bad = []

    def ask(*args):
        p = subprocess.run([program, *map(str, args), "-q", "--json"], capture_output=True, text=True)
        return p.returncode, json.loads(p.stdout) if p.stdout.startswith("{") else {}, p.stderr

    knows_check = subprocess.run([program, "check", "--help"], capture_output=True).returncode == 0
    print(f"{'kind':16}{'damages':>9}{'witnessed':>11}{'harmless':>10}{'open':>6}   why open")
    for kind, sizes in KINDS:
        ask("build", kind, *sizes, "-o", "net")
        tally, why = collections.Counter(), collections.Counter()
        for seed in range(count):
            _, made, _ = ask("damage", "net", "-o", "bad", "--seed", seed)
            name = f"{kind}, seed {seed}, {made['changed'][0]['tensor']}[{made['changed'][0]['index']}]"
            proof, said, _ = ask("prove", "bad")
            code, found, err = ask("refute", "bad", "--budget", budget if proof else min(budget, 0.2), "-o", "w.json")
            _, ran, _ = ask("run", "bad", "--count", 200, "--seed", 7)
            errs = ran["correct"] < ran["with_answer"]
            if proof not in (0, 10, 30) or code not in (10, 20, 30):
                bad.append(f"{name}: exits {proof} and {code}: {err}")
            if proof == 0 and (code == 10 or errs):
                bad.append(f"{name}: proved, but {'witnessed' if code == 10 else 'wrong on a sample'}")
            if proof == 10 and code == 20 or code == 20 and errs:
                bad.append(f"{name}: right on every input, but refuted")
            if code == 10:
                with open("in.jsonl", "w") as f:
                    for p in found["prompts"]:
                        f.write(json.dumps({"tokens": p["tokens"]}) + "\n")
                _, rerun, _ = ask("run", "bad", "--input", "in.jsonl")
                if rerun["correct"] == rerun["with_answer"]:
                    bad.append(f"{name}: run answers the witness rightly")
                if knows_check:
                    checked, verdict, err = ask("check", "w.json", "bad")
                    tally[{0: "confirmed"}.get(checked, "not confirmed")] += 1
                    if checked not in (0, 30):
                        bad.append(f"{name}: check: {verdict or err}")
            tally["witnessed" if code == 10 or proof == 10 else "harmless" if proof == 0 or code == 20 else "open"] += 1
            if proof == 30 and code == 30:
                why[said["why"].split(";")[0][:60]] += 1
        reasons = "; ".join(f"{n} x {w}" for w, n in why.most_common(3))
        print(f"{kind:16}{count:9}{tally['witnessed']:11}{tally['harmless']:10}{tally['open']:6}   {reasons}")
        if tally["confirmed"] or tally["not confirmed"]:
            print(f"{'':16}check confirms {tally['confirmed']}, leaves {tally['not confirmed']} to rounding")
        sys.stdout.flush()
    print(*bad, sep="\n", end="\n" if bad else "")
    print(f"damages: {count * len(KINDS)}, contradictions: {len(bad)}")
    shutil.rmtree(os.getcwd(), ignore_errors=True)
    sys.exit(bool(bad))


main()
