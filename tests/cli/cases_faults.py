"""The k-th allocation, or the k-th call of the file system, fails: the program answers as if nothing had been, or it says
why not in one line; nothing is half-written. k is the first, the middle and the last call of every way through the
program that leads to one, by the return addresses on the stack: what a loop asks for a hundred times is let down three
times. With HOPBOUND_LONG=1 it is every k up to some hundreds, and many of the rest. The program given is the one with
tests/faults.c in it; in the sanitizer build a leak or a bad access fails the test, too."""
import concurrent.futures, json, os, re, shutil, sqlite3, subprocess, tempfile
import harness
from cases_check import broken, witness
from harness import DATA, Skip, case, check, good, read, write

LONG = os.environ.get("HOPBOUND_LONG") == "1"
WORKERS = 2
# With HOPBOUND_LONG all k up to here, and half as many spread over the rest; without, at most so many.
EVERY = 300 if LONG else 90
FEW = 60 if LONG else 18  # where a run is slow, or much like another
SPARSE = 4      # what is full stays full: for one k in so many
MOST_SHOWN = 5
TIMES = re.compile(r'"(\w*seconds|\w+_per_second)":[-+.0-9e]+|[.0-9]+ s\b|\d+ (tokens|layers)/s')
STREAM = {"fwrite", "fflush", "fclose"}  # after these, some of standard output may have been written
SIZES = ("--hops", 1, "--m", 2)


def tree(home):
    """Every directory, as None, and every file's bytes."""
    found = {}
    for at, dirs, files in os.walk(home):
        for name in dirs:
            found[os.path.relpath(os.path.join(at, name), home)] = None
        for name in files:
            found[os.path.relpath(os.path.join(at, name), home)] = read(os.path.join(at, name))
    return found


def run(args, home, wish):
    """The process that ended, and what HOPBOUND_FAIL's descriptor received: a file, since a pipe might fill up."""
    with tempfile.TemporaryFile("w+") as told:
        p = subprocess.run([harness.PROGRAM, *args], cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=harness.TIMEOUT, pass_fds=[told.fileno()],
                           env={**os.environ, "HOPBOUND_FAIL": f"{wish}{told.fileno()}"})
        told.seek(0)
        return p, told.read()


def ways(told):
    """The numbers of the calls, for every way that led to one."""
    found = {}
    for line in told.splitlines():
        k, way = line.split()
        found.setdefault(way, []).append(int(k))
    return [sorted(ks) for ks in found.values()]


def spread(numbers, most):
    """At most so many of them, evenly."""
    return [numbers[i * len(numbers) // most] for i in range(most)] if len(numbers) > most else numbers


def chosen(found, every):
    """Which calls fail, in order. First ones come before all others, where there are too many ways."""
    total = sum(map(len, found))
    if LONG:
        rest = range(every + 1, total + 1)
        return [*range(1, min(every, total) + 1), *rest[::max(1, 2 * len(rest) // every)]]
    first = spread(sorted(ks[0] for ks in found), every)
    more = sorted({k for ks in found for k in (ks[len(ks) // 2], ks[-1])} - {ks[0] for ks in found})
    return sorted([*first, *spread(more, every - len(first))])


def attempt(template, args, wish):
    """Runs in a copy of the template; what came out, the files after, what HOPBOUND_FAIL's descriptor received."""
    with tempfile.TemporaryDirectory(prefix="hopbound-fault-") as top:
        home = os.path.join(top, "home")
        shutil.copytree(template, home)
        p, name = run(args, home, wish)
        result = harness.Result(args, p.returncode, TIMES.sub("", p.stdout.decode()), p.stderr.decode())
        return result, tree(home), name


def judge(before, good_result, after, outputs, wish, got):
    result, files, name = got
    where = f"{wish} {name}"
    kept = {path: data for path, data in before.items() if not any(path == o or path.startswith(o + "/") for o in outputs)}
    if (result.code, result.out, result.err) == (good_result.code, good_result.out, good_result.err):
        check(files == after, result, f"{where}: the same answer, but other files: {sorted(files)}")
        return
    check(result.code == 1, result, f"{where}: wanted exit {good_result.code} and the same answer, or exit 1")
    check(result.out == "" or name in STREAM, result, f"{where}: wanted nothing on stdout")
    check(re.fullmatch(rf"hopbound: {result.args[0]}: [^\n]+\n", result.err), result, f"{where}: wanted one line")
    check(files in (before, after, kept), result, f"{where}: half-written: {sorted(files)}")


def every_fault(*args, outputs=(), code=0, every=EVERY):
    """The chosen calls of each kind, in copies of the current directory. The outputs, all of them, are old, new or not there."""
    args = [str(a) for a in args] + ["--quiet", "--threads", "2"]
    home = os.getcwd()
    before = tree(home)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for kind in ("alloc", "file"):
            result, after, told = attempt(home, args, f"{kind}:0:")
            check(result.code == code and result.err == "", result, f"wanted exit {code}")
            found = ways(told)
            check(sum(map(len, found)) > 1, result, f"no call of kind {kind} came by: {told!r}")
            ks = chosen(found, every)
            wishes = [f"{kind}:{k}:" for k in ks] + [f"{kind}:{k}+" for k in ks[::SPARSE]]
            wrong = []
            for wish, got in zip(wishes, pool.map(lambda w: attempt(home, args, w), wishes)):
                try:
                    judge(before, result, after, outputs, wish, got)
                except AssertionError as why:
                    wrong.append(str(why))
            check(not wrong, why=f"{len(wrong)} of {len(wishes)}; " + "\n".join(wrong[:MOST_SHOWN]))


def build(kind="full", name="net", *more):
    good("build", kind, "-o", name, *(more or SIZES))


@case
def no_fault_harms_build():
    every_fault("build", "full", "-o", "net", *SIZES, "--json", outputs=["net"])


@case
def no_fault_harms_build_over_an_old_network():
    build("full", "net", "--hops", 1, "--m", 3)
    write("net/notes", "kept")
    every_fault("build", "full", "-o", "net", *SIZES, outputs=["net/config.json", "net/model.safetensors"])


@case
def no_fault_harms_run():
    build()
    good("task", *SIZES, "--count", 3, "--format", "jsonl", "-o", "in.jsonl")
    write("out.jsonl", "old")
    every_fault("run", "net", "--count", 3, "--json")
    every_fault("run", "net", "--input", "in.jsonl", "--predictions", "out.jsonl", "--precision", 20, outputs=["out.jsonl"])


@case
def no_fault_harms_prove():
    build()
    every_fault("prove", "net", "--json")
    build("hybrid", "hybrid", "--mixer", "gdn", *SIZES)
    every_fault("prove", "hybrid", "--limit", 8, every=FEW)
    build("two-sum-sparse", "sums", "--n", 4, "--mod", 4, "--block", 2)
    every_fault("prove", "sums", "--json", "--limit", 8, every=FEW)


@case
def no_fault_harms_play():
    build()
    every_fault("play", "net", "--count", 2, "--json")


@case
def no_fault_harms_audit():
    build()
    shutil.copy(os.path.join(DATA, "configs/qwen3-next-80b-a3b.json"), "qwen.json")
    every_fault("audit", "qwen.json", "--json")
    every_fault("audit", "net")


@case
def no_fault_harms_plan_and_the_table_of_models():
    shutil.copy(os.path.join(DATA, "configs/llama-3.1-8b.json"), "llama.json")
    shutil.copy(os.path.join(DATA, "configs/mamba-130m-original.json"), "mamba.json")
    every_fault("plan", "--hops", 2, "--n", 300, "--heads", 1, "--dim", 40, "--layers", 4, "--full", "0,2", "--json", every=FEW // 3)
    every_fault("audit", ".", "--n", 300, "--format", "csv", every=FEW // 3)


@case
def no_fault_harms_bound():
    every_fault("bound", "--hops", 3, "--pattern", "L F L F L", "--heads", 1, "--dim", 8, "--bits", 16, "--mixer", "linear",
                every=FEW)
    every_fault("bound", "--hops", "auto", "--pattern", "(gdn^3 F)^2", "--heads", 8, "--dim", 64, "--n", 4096, "--json", every=FEW // 3)


@case
def no_fault_harms_task():
    write("out", "old")
    every_fault("task", *SIZES, "--count", 3, "--format", "jsonl", "-o", "out", outputs=["out"])
    good("task", *SIZES, "--count", 3, "--format", "jsonl", "-o", "in")
    every_fault("task", *SIZES, "--check", "in")


@case
def no_fault_harms_ladder():
    """It leaves many files, one after the other: those that are there are whole, whatever came after."""
    args = ["ladder", "--rungs", "1", "--m", "3", "--count", "1", "--brief", "-o", "lad", "--quiet", "--threads", "2"]
    home = os.getcwd()
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for kind in ("alloc", "file"):
            good_result, after, told = attempt(home, args, f"{kind}:0:")
            check(good_result.code == 0 and "lad/report.html" in after, good_result)
            ks = chosen(ways(told), FEW)
            wishes = [f"{kind}:{k}:" for k in ks] + [f"{kind}:{k}+" for k in ks[::SPARSE]]
            for wish, (result, files, name) in zip(wishes, pool.map(lambda w: attempt(home, args, w), wishes)):
                same = (result.code, result.out, result.err) == (0, good_result.out, "")
                failed = result.code == 1 and re.fullmatch(r"hopbound: ladder: [^\n]+\n", result.err) and (not result.out or name in STREAM)
                check(same or failed, result, f"{wish} {name}: wanted the same answer, or one line and exit 1")
                check(set(files) <= set(after), result, f"{wish} {name}: left behind: {sorted(set(files) - set(after))}")
                torn = [f for f in files if f.endswith((".safetensors", "config.json")) and files[f] != after[f]]
                check(not torn and (not same or set(files) == set(after)), result, f"{wish} {name}: half-written: {torn}")


@case
def no_fault_harms_core():
    for core, name in (("attention", "attention"), ("delta", "delta_plain"), ("selective", "selective")):
        shutil.copy(os.path.join(DATA, f"cores/{name}.safetensors"), "in")
        every_fault("core", core, "--input", "in", "-o", "out", "--json", outputs=["out"])


@case
def no_fault_harms_check():
    write("w.json", witness("net", *broken()))
    every_fault("check", "w.json", "net", "--json", every=FEW)
    write("p.cnf", "p cnf 2 4\n1 2 0\n-1 2 0\n1 -2 0\n-1 -2 0\n")
    write("p.drat", "2 0\n0\n")
    every_fault("check", "p.drat", every=FEW)


TRAIN = ["train", "--pattern", "L F", "--mixer", "gla", "--d-model", "8", "--heads", "2", *map(str, SIZES), "--steps", "4", "--batch", "4",
         "--groups", "2", "--eval-every", "2", "--eval-count", "4", "--checkpoint-every", "2", "--quiet", "--threads", "2"]


def train_with(wish):
    """Trains with a fault, then, without one, resumes what it left or begins again; the first result, the call, the network."""
    with tempfile.TemporaryDirectory(prefix="hopbound-fault-") as home:
        p, name = run([*TRAIN, "-o", "net"], home, wish)
        result = harness.Result(TRAIN, p.returncode, p.stdout.decode(), p.stderr.decode())
        resumes = os.path.exists(os.path.join(home, "net/checkpoint.safetensors"))
        if not resumes:
            check(not os.path.exists(os.path.join(home, "net")) or name == "rename", result, f"{wish} {name}: a directory without a checkpoint")
            shutil.rmtree(os.path.join(home, "net"), ignore_errors=True)
        again = [*TRAIN, "-o", "net"] if not resumes else ["train", "--resume", "net", "--quiet", "--threads", "2"]
        p = subprocess.run([harness.PROGRAM, *again], cwd=home, stdin=subprocess.DEVNULL, capture_output=True, timeout=harness.TIMEOUT)
        check(p.returncode == 0, result, f"{wish} {name}: then {p.stderr.decode()}")
        return result, name, read(os.path.join(home, "net/model.safetensors"))


@case
def no_fault_harms_train():
    for kind in ("alloc", "file"):
        good_result, told, network = train_with(f"{kind}:0:")
        check(good_result.code == 0 and told.count("\n") > 1, good_result)
        wishes = [f"{kind}:{k}:" for k in chosen(ways(told), 24)]
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for wish, (result, name, after) in zip(wishes, pool.map(train_with, wishes)):
                check(after == network, result, f"{wish} {name}: another network")
                check(result.code == 0 or re.fullmatch(r"hopbound: train: [^\n]+\n", result.err), result, f"{wish} {name}: wanted one line")


SWEEP = ["sweep", "sweep.json", "-o", "runs.db", "--quiet", "--threads", "2", "--jobs", "2", "--picture", "runs.svg"]


def sweep_with(wish):
    """Sweeps with a fault, then, without one, tries again what failed; the first result, the call, what the database has and
    the picture."""
    with tempfile.TemporaryDirectory(prefix="hopbound-fault-") as home:
        write(os.path.join(home, "sweep.json"), json.dumps({
            "base": {"d_model": 8, "heads": 2, "steps": 4, "batch": 4, "groups": 2, "eval_every": 2, "eval_count": 4, "checkpoint_every": 2},
            "runs": [{"pattern": "L F", "task": {"hops": 1, "m": 2}},  # the other has a ceiling by P3
                     {"pattern": "L", "mixer": "linear", "heads": 1, "head_dim": 1, "task": {"hops": 1, "m": 40}}]}))
        p, name = run(SWEEP, home, wish)
        result = harness.Result(SWEEP, p.returncode, p.stdout.decode(), p.stderr.decode())
        if "built without SQLite" in result.err:
            raise Skip("built without SQLite")
        p = subprocess.run([harness.PROGRAM, *SWEEP, "--retry"], cwd=home, stdin=subprocess.DEVNULL, capture_output=True, timeout=harness.TIMEOUT)
        check(p.returncode == 0, result, f"{wish} {name}: then {p.stderr.decode()}")
        with sqlite3.connect(os.path.join(home, "runs.db")) as db:
            rows = db.execute("SELECT recipe, status, reason, steps, loss, accuracy FROM runs ORDER BY recipe").fetchall()
        return result, name, (rows, read(os.path.join(home, "runs.svg")))


@case
def no_fault_harms_sweep():
    for kind in ("alloc", "file"):
        good_result, told, whole = sweep_with(f"{kind}:0:")
        check(good_result.code == 0 and told.count("\n") > 1 and [r[1] for r in whole[0]] == ["done", "done"], good_result)
        wishes = [f"{kind}:{k}:" for k in chosen(ways(told), 24)]
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for wish, (result, name, after) in zip(wishes, pool.map(sweep_with, wishes)):
                check(after == whole, result, f"{wish} {name}: another database or picture: {after[0]}")
                check(result.code == 0 or re.fullmatch(r"hopbound: sweep: [^\n]+\n", result.err), result, f"{wish} {name}: wanted one line")
