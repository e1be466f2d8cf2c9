"""The verb exact: thresholds, protocols played again here, proofs judged by a checker of their own."""
import glob, json, os, shutil, signal, subprocess, sys, time
import harness
from harness import case, check, good, good_json, hopbound, one_line, read, write

KEYS = {"results", "solver", "seconds", "thresholds"}


def judge(cnf, drat):
    return hopbound("check", drat, cnf)


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
    check(r["thresholds"] == [{"message_bits": 0, "possible_from": 5, "impossible_to": 4, "undecided": 0,
                               "theorems_silent_from": 5}], why=str(r))
    check([c["p5"] for c in r["results"]] == ["silent"] * 6, why="P5 is about a full layer, and there is none")
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
def a_cell_about_which_the_theorems_are_silent_need_not_have_a_protocol():
    got = good_json("exact", "--hops", 2, "--m", 2, "--fan", 2, "--before", 2, "--after", 0, "--message-bits", 1)
    cell = got["results"][0]
    check(len(got["results"]) == 1 and cell["verdict"] == "impossible", why=str(got))
    check([cell[by] for by in ("p2", "p4", "p5")] == ["silent"] * 3, why=str(cell))


@case
def exact_needs_both_chains_for_half_of_z_2_each_and_no_message():
    r = good_json("exact", "--hops", 2, "--state-bits", "1..3", "--message-bits", 0)
    check([(c["verdict"], c["by"], c["p2"]) for c in r["results"]] == [("impossible", "cut", "impossible")] * 3, why=str(r))


@case
def exact_leaves_proofs_that_the_checker_accepts_and_broken_ones_that_it_refuses():
    good("exact", "--hops", 2, "--state-bits", 1, "--message-bits", 1, "--proof", "proofs")
    good("exact", "--m", 3, "--state-bits", 4, "--proof", "proofs")
    formulas = sorted(glob.glob("proofs/*.cnf"))
    check(len(formulas) == 4 + 5 and len(os.listdir("proofs")) == 18, why=str(os.listdir("proofs")))
    for cnf in formulas:
        drat = cnf[:-4] + ".drat"
        r = good_json("check", drat, keys={"valid", "why", "kind"})  # finds the formula beside it
        check(r["valid"] and r["kind"] == "drat" and "no solution" in r["why"], why=f"{cnf}: {r}")
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
        os.rename(name, name + ".drat")
        one_line(judge(cnf, name + ".drat"), 1, why)
    text = read(cnf).decode()
    write("easier.cnf", text[: text.rindex("\n", 0, len(text) // 2)] + "\n")
    one_line(judge("easier.cnf", cnf[:-4] + ".drat"), 1, "clauses, not")
    one_line(judge("nowhere.cnf", cnf[:-4] + ".drat"), 1, "nowhere.cnf: No such file")


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
        (["--m", 6, "--state-bits", 15], 1, r"after 15 bits: too big.*clauses"),
        (["--proof", "/dev/null/x", "--m", 2], 1, "/dev/null"), (["--m", 2, "--protocol", "/nowhere/p"], 1, "/nowhere"),
        (["--hops", 1, "--fan", 3], 2, "--fan: one hop has no second function"),
        (["--state-bits", "9" * 30], 2, "--state-bits: " + "9" * 30 + " is outside 0..24"),
        (["--state-bits", "0.." + "9" * 99], 2, "--state-bits: 9{40}[.][.] is outside 0..24"),
    ]:
        one_line(hopbound("exact", *args, "--quiet", "--json" if code == 2 else "--quiet"), code, why)


def summary(*args, code=0):
    """The lines below the table."""
    return good("exact", *args, "--quiet", code=code).out.splitlines()


@case
def exact_says_undecided_where_it_is_and_impossible_only_where_that_is():
    lines = summary("--hops", 2, "--fan", 3, "--state-bits", 0, "--message-bits", "1,6", code=30)
    check("no formula decides it" in lines[3], why=str(lines))
    check(lines[4] == "1 message bit: possible with none of these state bits; the theorems exclude those below 3", why=str(lines))
    check(lines[5] == "6 message bits: undecided; the theorems exclude none", why=str(lines))
    r = good_json("exact", "--hops", 2, "--fan", 3, "--state-bits", 0, "--message-bits", "1,6", code=30)
    check([h["undecided"] for h in r["thresholds"]] == [0, 1], why=str(r))


@case
def exact_says_what_the_theorems_exclude_also_between_the_bits_asked_for():
    lines = summary("--m", 3, "--state-bits", "4,7")
    check(lines[4] == "impossible up to 4, possible from 7 state bits; the theorems exclude those below 5", why=str(lines))
    for bits in ("4,7", "0,1", "7"):
        r = good_json("exact", "--m", 3, "--state-bits", bits)
        check([h["theorems_silent_from"] for h in r["thresholds"]] == [5], why=str(r))


@case
def exact_keeps_the_table_when_some_of_its_cells_are_too_big():
    r = good_json("exact", "--m", 5, "--state-bits", "6,7,10", code=30)
    check([(c["verdict"], c["by"], c["p2"]) for c in r["results"]] ==
          [("impossible", "cut", "impossible")] * 2 + [("undecided", "too big", "impossible")], why=str(r))
    lines = summary("--m", 5, "--state-bits", "6,7,10", code=30)
    check(lines[5] == "impossible up to 7 state bits, 1 undecided; the theorems exclude those below 12", why=str(lines))
    r = good_json("exact", "--m", 3, "--state-bits", 20)  # too big for a formula, but not for a protocol found below
    check([(c["verdict"], c["by"]) for c in r["results"]] == [("possible", "fewer bits")], why=str(r))


def instead(script):
    """An environment in which the solver is this Python program; CADICAL is the true one, FORMULA its input."""
    os.mkdir("bin")
    write("bin/cadical", f"#!{sys.executable}\nimport os, subprocess, sys, time\nCADICAL = {shutil.which('cadical')!r}\n"
          "if '--version' in sys.argv:\n    print('fake')\n    sys.exit(0)\n"
          "FORMULA = sys.stdin.buffer.read()\n" + script)
    os.chmod("bin/cadical", 0o755)
    return {**os.environ, "PATH": os.path.abspath("bin") + ":" + os.environ["PATH"]}


@case
def exact_gives_the_last_cell_all_the_time_and_says_whether_that_or_a_share_was_spent():
    slow = instead("time.sleep(60)\n")
    began = time.time()
    r = good_json("exact", "--m", 2, "--state-bits", "0,1", "--budget", 3, code=30, env=slow)
    spent = time.time() - began
    check([c["by"] for c in r["results"]] == ["share spent", "budget spent"], why=str(r))
    check(3 <= spent < 10, why=f"{spent} seconds")  # half of the rest each, and it would be 2.25
    r = good_json("exact", "--m", 5, "--state-bits", "0,10", "--budget", 1, code=30, env=slow)
    check([c["by"] for c in r["results"]] == ["budget spent", "too big"], why=str(r))


@case
def exact_tells_in_the_direct_formula_which_messages_it_leaves_out_and_why():
    env = instead("if b'Satisfiable exactly' not in FORMULA: sys.exit(0)\n"  # unknown
                  "open(sys.argv[-1], 'w').close()\nprint('s UNSATISFIABLE')\nsys.exit(20)\n")
    good("exact", "--hops", 2, "--before", 0, "--after", 1, "--message-bits", 2, "--proof", "proofs", "--quiet", env=env)
    formula = read("proofs/exact-hops2-m2-fan2-before0-message2-after1.cnf")
    for part in (b"c Open: z_1 ", b"c Open: z_0 ", b"c Free: the tokens of z_1 hear 4 bits of z_2"):
        check(part in formula, why=formula[:2000])


def children(pid):
    """The processes that it started and that have not ended."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            state, parent = read(path).rsplit(b") ", 1)[1].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state != b"Z":
            found.append(int(path.split("/")[2]))
    return found


def alive(pid):
    try:
        return read(f"/proc/{pid}/stat").rsplit(b") ", 1)[1].split()[0] != b"Z"
    except OSError:
        return False


def wait_for(condition, seconds=60):
    deadline = time.time() + seconds
    while time.time() < deadline and not condition():
        time.sleep(0.02)
    return condition()


def start_hard():
    """A search that takes long, once its solver runs; its files in tmp."""
    os.mkdir("tmp")
    p = subprocess.Popen([harness.PROGRAM, "exact", "--hops", "2", "--state-bits", "4", "--message-bits", "0"],
                         env={**os.environ, "TMPDIR": os.path.abspath("tmp")}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    began = time.time()
    check(wait_for(lambda: time.time() - began > 1 and children(p.pid)), why="no solver")
    return p, children(p.pid)


@case
def exact_that_is_killed_leaves_no_solver_and_no_file():
    p, solvers = start_hard()
    p.kill()
    p.communicate(timeout=20)
    check(wait_for(lambda: not any(alive(s) for s in solvers), 5), why=f"{solvers} goes on")
    check(os.listdir("tmp") == [], why=str(os.listdir("tmp")))


@case
def exact_stopped_by_a_signal_keeps_the_protocols_and_what_the_theorems_say_of_the_rest():
    env = instead("if b'before the epoch: 1' in FORMULA:\n    open('reached', 'w').close()\n    time.sleep(60)\n"
                  "sys.exit(subprocess.run([CADICAL, *sys.argv[1:]], input=FORMULA).returncode)\n")
    p = subprocess.Popen([harness.PROGRAM, "exact", "--hops", "2", "--state-bits", "0..2", "--message-bits", "0,4",
                          "--protocol", "p.json", "--json"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(wait_for(lambda: os.path.exists("reached")), why="never came there")
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=20)
    check(p.returncode == 1 and b"stopped" in err, why=f"{p.returncode} {err!r}")
    cells = {(c["state_bits"], c["message_bits"]): c for c in json.loads(out)["results"]}
    check((cells[0, 4]["verdict"], cells[1, 4]["by"], cells[2, 0]["by"]) == ("possible", "stopped", "stopped"), why=f"{out!r}")
    check((cells[2, 0]["verdict"], cells[2, 0]["p2"], cells[2, 4]["p2"]) == ("undecided", "impossible", "silent"), why=f"{out!r}")
    protocols = json.loads(read("p.json"))["protocols"]
    check([p["message_bits"] for p in protocols] == [4] and right(protocols[0]), why="the protocol found is not there")


@case
def exact_stops_on_a_signal_and_leaves_no_child_and_no_file():
    p, solvers = start_hard()
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=20)
    check(p.returncode == 1 and b"stopped" in err, why=f"{p.returncode} {err!r}")
    check(b"undecided" in out, why=f"{out!r}")
    check(not any(alive(s) for s in solvers), why="a solver goes on")
    check(os.listdir("tmp") == [], why=str(os.listdir("tmp")))
