"""The verb exact: thresholds, protocols played again here, proofs judged by a checker of their own."""
import glob, json, os, signal, subprocess, time
import harness
from harness import case, check, good, good_json, hopbound, one_line, read, write

KEYS = {"results", "solver", "seconds", "thresholds"}
CHECKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/check_drat.c")


def checker():
    """The proof checker, compiled into the case's directory."""
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", "check_drat", CHECKER], check=True)
    return lambda cnf, drat: subprocess.run(["./check_drat", cnf, drat], capture_output=True, text=True, timeout=60)


def entry(table, size, index):
    return table // size**index % size


def play(p, x):
    """The players' tables, followed on one input; indices as hopbound/exact.h gives them."""
    players, answer = p["players"], 0
    known, chain = [0], 0
    for j, me in enumerate(players[:-1]):
        known.append(me["before"][known[j] * me["inputs"] + x[j]])
        check(known[-1] < 2 ** p["before_bits"], why="a state too long")
    states = [1] + [2 ** p["before_bits"]] * (len(players) - 1)
    for j, me in enumerate(players):
        bits, heard = p["message_bits"] * me["tokens"], 0
        for h in me["hears"]:
            i = h["from"]
            reply = h["reply"][((x[i] * states[i] + known[i]) * me["inputs"] + x[j]) * states[j] + known[j]]
            check(reply < 2**bits, why="a reply too long")
            heard |= reply << (i * bits)
        chain = me["after"][(((chain * me["inputs"] + x[j]) * states[j] + known[j]) << (j * bits)) | heard]
        check(j == len(players) - 1 or chain < 2 ** p["after_bits"], why="a state too long")
    return chain


def right(p):
    """Whether the protocol is right on every input, by a player and a composer written here."""
    counts = [player["inputs"] for player in p["players"]]
    m, n = p["m"], p["m"] * p["fan"] if p["hops"] == 2 else p["m"]
    total = 1
    for c in counts:
        total *= c
    for number in range(total):
        x = []
        for c in counts:
            x.append(number % c)
            number //= c
        i1 = entry(x[-3], m, x[-2])
        want = i1 if p["hops"] == 1 else entry(x[0], n, x[3] * m + i1)
        if play(p, x) != want:
            return False
    return True


@case
def exact_finds_the_threshold_of_three_entries_at_five_state_bits_within_a_minute():
    began = time.time()
    r = good_json("exact", "--hops", 1, "--m", 3, keys=KEYS)
    check([c["verdict"] for c in r["results"]] == ["impossible"] * 5 + ["possible"], why=str(r))
    check([c["p2"] for c in r["results"]] == ["impossible"] * 5 + ["silent"], why=str(r))
    check(r["thresholds"] == [{"message_bits": 0, "possible_from": 5, "impossible_to": 4, "theorems_silent_from": 5}])
    check(r["solver"].startswith("cadical "), why=r["solver"])
    check(time.time() - began < 60, why="more than a minute")


@case
def exact_decides_two_hop_cells_of_both_verdicts_and_its_protocols_play():
    r = good_json("exact", "--hops", 2, "--before", 0, "--after", "0,1", "--message-bits", "2..4", "--protocol", "p.json")
    cells = {(c["after_bits"], c["message_bits"]): c for c in r["results"]}
    want = {(0, 2): "impossible", (0, 3): "impossible", (0, 4): "possible", (1, 2): "impossible", (1, 3): "possible",
            (1, 4): "possible"}
    check({k: c["verdict"] for k, c in cells.items()} == want, why=str(r))
    check(all(c["p4"] == ("impossible" if c["verdict"] == "impossible" else "silent") for c in r["results"]), why=str(r))
    check(not any(c["refutes_a_theorem"] for c in r["results"]))
    protocols = json.loads(read("p.json"))["protocols"]
    check(sorted((p["after_bits"], p["message_bits"]) for p in protocols) == [(0, 4), (1, 3)], why="protocols")
    for p in protocols:
        check(right(p), why="a protocol is wrong")
        p["players"][-1]["after"] = [(v + 1) % 4 for v in p["players"][-1]["after"]]
        check(not right(p), why="a broken protocol passes")


@case
def exact_needs_both_chains_for_half_of_z_2_each_and_no_message():
    r = good_json("exact", "--hops", 2, "--state-bits", "1..3", "--message-bits", 0)
    check([(c["verdict"], c["by"], c["p2"]) for c in r["results"]] == [("impossible", "cut", "impossible")] * 3, why=str(r))


@case
def exact_leaves_proofs_that_the_checker_accepts_and_broken_ones_that_it_refuses():
    judge = checker()
    good("exact", "--hops", 2, "--state-bits", 1, "--message-bits", 1, "--proof", "proofs")
    good("exact", "--m", 3, "--state-bits", 4, "--proof", "proofs")
    formulas = sorted(glob.glob("proofs/*.cnf"))
    check(len(formulas) == 4 + 5 and len(os.listdir("proofs")) == 18, why=str(os.listdir("proofs")))
    for cnf in formulas:
        drat = cnf[:-4] + ".drat"
        r = judge(cnf, drat)
        check(r.returncode == 0 and r.stdout.startswith("verified"), why=f"{cnf}: {r}")
        check(read(cnf).startswith(b"c ") and b"nsatisfiable" in read(cnf), why="no comment in " + cnf)
    cnf = [f for f in formulas if "message1-after1" in f][0]
    proof = read(cnf[:-4] + ".drat").decode().splitlines(keepends=True)
    added = [i for i, line in enumerate(proof) if not line.startswith("d")]
    flipped = proof[:]
    number = added[0]
    lits = proof[number].split()
    flipped[number] = " ".join([str(-int(l)) for l in lits[:-1]] + ["0"]) + "\n"
    write("flipped", "".join(flipped))
    write("cut", "".join(proof[: len(proof) // 4]))
    write("jump", "0\n")
    for name, why in (("flipped", "does not follow"), ("cut", "ends before"), ("jump", "does not follow")):
        r = judge(cnf, name)
        check(r.returncode == 1 and why in r.stderr, why=f"{name}: {r}")
    text = read(cnf).decode()
    write("easier.cnf", text[: text.rindex("\n", 0, len(text) // 2)] + "\n")
    check(judge("easier.cnf", cnf[:-4] + ".drat").returncode == 1, why="a formula cut in half passes")


@case
def exact_says_in_one_line_that_the_solver_is_missing():
    one_line(hopbound("exact", "--m", 2, env={"PATH": "/nowhere"}), 1,
             r"hopbound: exact: cadical not found: install the Debian package cadical")


@case
def exact_without_time_is_undecided_and_says_so():
    r = good_json("exact", "--hops", 2, "--state-bits", 1, "--message-bits", 1, "--budget", "0.000001", code=30)
    check([c["verdict"] for c in r["results"]] == ["undecided"], why=str(r))


@case
def exact_refuses_what_it_cannot_decide_in_one_line():
    for args, code, why in [
        (["--hops", 3], 2, "--hops"), (["--m", 1], 2, "--m"), (["--state-bits", "x"], 2, "not a list"),
        (["--state-bits", "3..1"], 2, "does not rise"), (["--state-bits", "0..99"], 2, "outside"),
        (["--state-bits", "1,"], 2, "not a list"), (["--state-bits", 1, "--before", 1], 2, "two kinds"),
        (["--full-layers", 0, "--message-bits", 1], 2, "no messages"),
        (["--m", 40], 1, "more than 2.24 inputs"), (["--hops", 2, "--m", 3, "--fan", 3], 1, "more than 2.24"),
        (["--m", 6, "--state-bits", 15], 1, r"too big.*clauses"), (["--proof", "/dev/null/x", "--m", 2], 1, "/dev/null"),
        (["--m", 2, "--protocol", "/nowhere/p"], 1, "/nowhere"),
    ]:
        r = hopbound("exact", *args, "--quiet", "--json" if code == 2 else "--quiet")
        if "--protocol" in args:  # the table was printed by then
            check(r.code == 1 and len(r.err.splitlines()) == 1 and "/nowhere" in r.err, r)
        else:
            one_line(r, code, why)


@case
def exact_stops_on_a_signal_and_leaves_no_child_and_no_file():
    os.mkdir("tmp")
    p = subprocess.Popen([harness.PROGRAM, "exact", "--hops", "2", "--state-bits", "4", "--message-bits", "0"],
                         env={**os.environ, "TMPDIR": os.path.abspath("tmp")}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.time() + 60
    while time.time() < deadline and not glob.glob("tmp/*/cnf"):
        time.sleep(0.05)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=20)
    check(p.returncode == 1 and b"stopped" in err, why=f"{p.returncode} {err!r}")
    check(b"undecided" in out, why=f"{out!r}")
    check(os.listdir("tmp") == [], why=str(os.listdir("tmp")))
