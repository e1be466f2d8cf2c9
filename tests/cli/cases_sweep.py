"""sweep: grids and lists, the database, interruptions, ranks."""
import json, os, re, shutil, signal, sqlite3, subprocess, time
import xml.etree.ElementTree as xml
import harness
from harness import DATA, Skip, case, check, good, good_json, hopbound, one_line, read, write
from cases_play import mpirun
from cases_train import over_ranks

BASE = {"pattern": "F F", "d_model": 16, "heads": 2, "steps": 40, "batch": 8, "groups": 4, "warmup": 5, "eval_every": 20,
        "eval_count": 32, "checkpoint_every": 5, "task": {"hops": 1, "m": 3}}


def sweep(plan, *args, name="runs.db", **kw):
    if "built without SQLite" in hopbound("sweep", "none.json", "-o", "none.db").err:
        raise Skip("built without SQLite")
    write("sweep.json", json.dumps(plan))
    return good_json("sweep", "sweep.json", "-o", name, *args, keys=("runs", "done", "failed"), **kw)


def rows(sql, name="runs.db"):
    with sqlite3.connect(name) as db:
        return db.execute(sql).fetchall()


@case
def a_grid_and_a_list_become_rows():
    r = sweep({"base": BASE, "grid": {"pattern": ["F F", "L F"], "seed": [1, 2]}, "runs": [{"mixer": "gla", "pattern": "L F", "seed": 3}]})
    check((r["runs"], r["done"], r["failed"]) == (5, 5, 0), why=str(r))
    check(not os.path.exists("runs.db-wal"), why="the database was not closed")
    got = rows("SELECT pattern, seed, mixer, status, steps, hops, table_size FROM runs ORDER BY id")
    check(sorted(got) == sorted([(p, s, "deltanet", "done", 40, 1, 3) for p in ("F F", "L F") for s in (1, 2)] + [("L F", 3, "gla", "done", 40, 1, 3)]), why=str(got))
    got = rows("SELECT run, step, last, instances FROM measurements WHERE run = 1 ORDER BY step, last")
    check(got == [(1, 20, 0, 32), (1, 40, 0, 32), (1, 40, 1, 128)], why=str(got))
    check(os.listdir("runs.db.d") == [], why="networks were left")
    grids = [{"pattern": ["F F", "L F"], "seed": [1, 2]}, {"mixer": ["gla"], "pattern": ["L F"], "seed": [3]}]
    r = sweep({"base": BASE, "grid": grids})
    check((r["runs"], r["skipped"]) == (5, 5), why=f"a list of grids is as good: {r}")


@case
def a_restart_skips_what_is_done_and_a_failed_run_is_a_row():
    plan = {"base": BASE, "runs": [{"seed": 1}, {"lr": 1e30, "clip": 0}, {"mixer": "nope", "pattern": "L"}, {"seed": 1}]}
    r = sweep(plan, "--jobs", 2)
    check((r["runs"], r["done"], r["failed"], r["skipped"]) == (3, 1, 2, 0), why=str(r))
    reasons = {x for (x,) in rows("SELECT reason FROM runs WHERE status = 'failed'")}
    check(any("not finite" in x for x in reasons) and any("nope" in x for x in reasons), why=str(reasons))
    plan["runs"].append({"seed": 5})
    r = sweep(plan)
    check((r["runs"], r["done"], r["failed"], r["skipped"]) == (4, 2, 2, 3), why=str(r))
    r = sweep(plan, "--retry")
    check((r["runs"], r["done"], r["failed"], r["skipped"]) == (4, 2, 2, 2), why=str(r))


@case
def an_interrupted_sweep_goes_on_and_its_runs_have_the_same_bits():
    plan = {"base": {**BASE, "steps": 400}, "grid": {"seed": [1, 2, 3]}}
    sweep(plan, "--keep", name="whole.db")
    for number in (signal.SIGINT, signal.SIGKILL):
        p = subprocess.Popen([harness.PROGRAM, "sweep", "sweep.json", "-o", "parts.db", "--keep", "--quiet", "--jobs", "2"], stderr=subprocess.PIPE)
        for _ in range(3000):
            if os.path.isdir("parts.db.d") and os.listdir("parts.db.d") or p.poll() is not None:
                break
            time.sleep(0.01)
        check(rows("SELECT count(*) FROM runs", "parts.db") == [(3,)], why="not readable while it runs")
        time.sleep(0.1)
        p.send_signal(number)
        err = p.communicate(timeout=60)[1].decode()
        check(p.returncode in (0, 1, -9), why=f"{p.returncode} {err}")
        if p.returncode == 1:
            check(err == "hopbound: sweep: stopped: by a signal; the same command continues\n", why=err)
    r = sweep(plan, "--keep", name="parts.db")
    check((r["runs"], r["done"]) == (3, 3), why=str(r))
    for run in os.listdir("whole.db.d"):
        check(read(f"whole.db.d/{run}/model.safetensors") == read(f"parts.db.d/{run}/model.safetensors"), why=run)
    what = "SELECT r.seed, m.step, m.last, m.correct FROM measurements m JOIN runs r ON r.id = m.run ORDER BY 1, 2, 3"
    check(rows(what, "whole.db") == rows(what, "parts.db"))


@case
def two_processes_do_not_sweep_into_one_database():
    sweep({"base": BASE, "runs": [{"seed": 1}]})
    write("sweep.json", json.dumps({"base": {**BASE, "steps": 1000000}, "grid": {"seed": [1, 2]}}))
    p = subprocess.Popen([harness.PROGRAM, "sweep", "sweep.json", "-o", "runs.db", "--quiet"], stderr=subprocess.PIPE)
    for _ in range(3000):
        if os.path.isdir("runs.db.d") and os.listdir("runs.db.d"):
            break
        time.sleep(0.01)
    one_line(hopbound("sweep", "sweep.json", "-o", "runs.db"), 1, "runs.db.d: another process works in it")
    p.send_signal(signal.SIGINT)
    check(b"stopped" in p.communicate(timeout=60)[1])


@case
def parts_of_a_sweep_share_it_out():
    plan = {"base": {**BASE, "steps": 2}, "grid": {"seed": [1, 2, 3, 4, 5]}}
    counts = [sweep(plan, "--part", f"{k}/2", name=f"{k}.db")["runs"] for k in (1, 2)]
    check(counts == [3, 2], why=str(counts))
    one_line(hopbound("sweep", "sweep.json", "-o", "x.db", "--part", "3/2"), 2, "--part")
    text = read(os.path.join(DATA, "..", "..", "docs", "TRAINING.md")).decode()
    put_together, = re.findall(r'sqlite3 all.db "(.*?)"\n', text, re.S)
    shutil.copy("1.db", "all.db")
    for k in (1, 2):
        with sqlite3.connect("all.db", isolation_level=None) as db:
            db.executescript(put_together.replace("$f", f"{k}.db"))
    r = sweep(plan, "--show", "--picture", "all.svg", name="all.db")
    check(r["done"] == 5, why=str(r))
    mean, = rows("SELECT 100 * avg(accuracy) FROM runs", "all.db")[0]
    check([c[1].startswith(f"hops 1, m 3: {mean:.2f} %") and "5 seeds" in c[1] for c in curves("all.svg")[0]] == [True])


@case
def what_is_no_sweep_is_one_line():
    sweep({"base": {**BASE, "steps": 1}})
    for text, pattern in (("[]", "an object"), ('{"grids": {}}', "grids: unknown key"), ('{"grid": {"lr": 1}}', "lr: not a list"), ('{"grid": [{}, 1]}', "grid: neither"), ('{"grid": 1}', "grid: neither"),
                          ('{"grid": {"lr": [1, "x"]}}', "run 2: lr"), ('{"runs": [{"stpes": 1}]}', "run 1: stpes"), ("{", "line 1")):
        write("bad.json", text)
        one_line(hopbound("sweep", "bad.json", "-o", "bad.db"), 1, pattern)
        check(not os.path.exists("bad.db"), why=text)
    write("text.db", "this is not a database, but it is long enough to look like a file of some kind\n" * 20)
    one_line(hopbound("sweep", "sweep.json", "-o", "text.db"), 1, "text.db: ")
    with sqlite3.connect("other.db") as db:
        db.execute("CREATE TABLE mine(x)")
    one_line(hopbound("sweep", "sweep.json", "-o", "other.db"), 1, "something else")


SVG = "{http://www.w3.org/2000/svg}"
FEW = {"base": {**BASE, "steps": 2}, "grid": {"task": [{"hops": 1, "m": 3}, {"hops": 1, "m": 5}], "pattern": ["F F", "L F", "L L"],
                                             "mixer": ["gla", "gdn"], "seed": [1, 2]}}


def curves(name):
    """The curves' titles: a line for the plan, a line for every size; and all words."""
    root = xml.fromstring(read(name).decode())
    check(root.tag == SVG + "svg")
    return ([g.find(SVG + "title").text.split("\n") for g in root.iter(SVG + "g") if "curve" in g.get("class", "")],
            " ".join("".join(t.itertext()) for t in root.iter(SVG + "text")))


@case
def a_picture_has_a_curve_for_every_plan():
    r = sweep(FEW, "--picture", "all.svg")
    check(r["picture"] == "all.svg" and r["done"] == 24, why=str(r))
    got, words = curves("all.svg")
    # F F takes no mixer, so that its runs with either are one plan, with two seeds
    check(sorted(c[0] for c in got) == ["F F", "L F gdn", "L F gla", "L L gdn", "L L gla"], why=str(got))
    for c in got:
        check([line.split(":")[0] for line in c[1:]] == ["hops 1, m 3", "hops 1, m 5"] and all("2 seeds" in x for x in c[1:]), why=str(c))
    mean, = rows("SELECT 100 * avg(accuracy) FROM runs WHERE pattern = 'L F' AND mixer = 'gla' AND table_size = 5")[0]
    check(any(c[0] == "L F gla" and f"hops 1, m 5: {mean:.2f} %" in c[2] for c in got), why=f"{mean} {got}")
    check("1 hop, width 16, 2 seeds each, at most 2 steps" in words and "24 runs." in words, why=words)
    before = read("all.svg")
    check(sweep(FEW, "--picture", "again.svg")["skipped"] == 24 and read("again.svg") == before, why="a finished sweep draws the same")


@case
def a_database_that_is_half_done_is_drawn_as_far_as_it_is():
    half = {**FEW, "grid": {**FEW["grid"], "pattern": ["F F"]}, "runs": [{"lr": 1e30, "clip": 0, "steps": 9}]}
    check(sweep(half)["failed"] == 1)
    whole = {**FEW, "runs": half["runs"]}
    before = read("runs.db")
    r = sweep(whole, "--show", "--picture", "half.svg")
    check((r["runs"], r["done"], r["failed"]) == (25, 8, 1), why=str(r))
    got, words = curves("half.svg")
    check([c[0] for c in got] == ["F F"] and "25 runs, 8 done, 1 failed." in words, why=f"{got} {words}")
    check(read("runs.db") == before, why="--show wrote")
    one_line(hopbound("sweep", "sweep.json", "-o", "none.db", "--show"), 1, "none.db: ")
    check(not os.path.exists("none.db"))
    r = sweep(whole, "--picture", "whole.svg")
    check((r["done"], r["skipped"]) == (24, 9) and len(curves("whole.svg")[0]) == 5, why=str(r))


@case
def plans_of_the_same_layers_are_told_apart_by_what_differs():
    sweep({"base": {**BASE, "steps": 2}, "grid": {"lr": [0.001, 0.25], "norm": ["rms", "layer"], "seed": [1, 2]},
           "runs": [{"task": {"name": "recall", "pairs": 2, "queries": 1, "keys": 3, "values": 2}, "norm": "rms", "lr": 0.25},
                    {"task": {"name": "khop", "n": 8, "alphabet": 3, "hops": 2}, "norm": "rms", "lr": 0.25}]},
          "--picture", "p.svg")
    got, words = curves("p.svg")
    names = [f"F F, norm {n}, lr {x}" for n in ("rms", "layer") for x in ("0.001", "0.25")]
    check(sorted(c[0] for c in got) == sorted(names + 2 * ["F F, norm rms, lr 0.25"]), why=str(got))
    check("recall, width 16, 1 seed each" in words and "khop, " in words and "tokens of the prompt" in words, why=words)


@case
def a_picture_is_not_drawn_over_the_database_or_the_plan():
    sweep({"base": BASE})
    for over in ("runs.db", "sweep.json"):
        before = read(over)
        for show in ((), ("--show",)):
            one_line(hopbound("sweep", "sweep.json", "-o", "runs.db", "--picture", over, *show), 2,
                     rf"sweep: --picture: {over}: is what is read")
        check(read(over) == before)


@case
def a_picture_that_cannot_be_written_is_known_before_the_training():
    sweep({"base": {**BASE, "steps": 1}})
    r = hopbound("sweep", "sweep.json", "-o", "new.db", "--picture", "no/such/dir.svg")
    one_line(r, 1, "no/such/dir.svg: ")
    check(not os.path.exists("new.db"), r)
    one_line(hopbound("sweep", "sweep.json", "-o", "runs.db", "--show", "--picture", "no/such/dir.svg"), 1, "no/such/dir.svg: ")


@case
def an_accuracy_above_the_ceiling_is_called_a_bug():
    plan = {"base": {**BASE, "d_model": 4, "heads": 1, "head_dim": 1, "steps": 1, "mixer": "linear", "pattern": "L", "eval_count": 256,
                     "task": {"hops": 1, "m": 64}}}
    sweep(plan, "--threads", 1)
    with sqlite3.connect("runs.db") as db:
        ceiling, = db.execute("SELECT ceiling FROM runs").fetchone()
        db.execute("UPDATE measurements SET correct = instances, accuracy = 1 WHERE last = 1")
    check(ceiling < 0.9, why=f"the ceiling is {ceiling}")
    for more in ((), ("--show",), ("--show", "--picture", "p.svg")):
        r = hopbound("sweep", "sweep.json", "-o", "runs.db", "--quiet", *more)
        check(r.code == 1 and "a bug: L at hops 1, m 64 answers 1.0000" in r.err and r.err.count("\n") == 1, r)


@case
def ranks_take_runs_from_the_first():
    mpirun(1)
    plan = {"base": BASE, "grid": {"seed": [1, 2, 3, 4]}, "runs": [{"lr": 1e30, "clip": 0}]}
    sweep(plan, "--keep", name="alone.db")
    r = over_ranks(3, "sweep", "sweep.json", "-o", "ranks.db", "--keep", "--threads", 1, "--json")
    check(r.code == 0, r)
    got = json.loads(r.out)
    check((got["runs"], got["done"], got["failed"]) == (5, 4, 1), r)
    for run in os.listdir("alone.db.d"):
        check(read(f"alone.db.d/{run}/model.safetensors") == read(f"ranks.db.d/{run}/model.safetensors"), why=run)
    check(rows("SELECT count(*) FROM measurements", "ranks.db") == rows("SELECT count(*) FROM measurements", "alone.db"))


SCHEMAS = {  # what stands under the names of our tables, and what is said of it
    "a view that never ends": (["CREATE VIEW runs AS WITH RECURSIVE r(recipe, id, status, ceiling) AS (SELECT 'x', 0, 'done', 0 UNION ALL SELECT 'x', id + 1, 'done', 0 FROM r) SELECT * FROM r",
                                "CREATE TABLE measurements(run, step, last, loss, instances, correct, accuracy, low, high, answers, chance, seconds, tokens_per_second)"], "not the tables of a sweep"),
    "measurements that are a view": (["CREATE TABLE runs(id INTEGER PRIMARY KEY, recipe TEXT UNIQUE, status, ceiling)", "CREATE VIEW measurements AS SELECT 1 AS run"], "not the tables of a sweep"),
    "a column that is computed": (["CREATE TABLE runs(id INTEGER PRIMARY KEY, recipe TEXT UNIQUE, ceiling, status AS (hex(zeroblob(500000000))))",
                                   "CREATE TABLE measurements(run, step, last, loss, instances, correct, accuracy, low, high, answers, chance, seconds, tokens_per_second)"], "not the tables of a sweep"),
    "a virtual table": (["CREATE VIRTUAL TABLE runs USING fts5(id, recipe, status, ceiling)", "CREATE TABLE measurements(run)"], "not the tables of a sweep"),
    "other columns": (["CREATE TABLE runs(x)", "CREATE TABLE measurements(run)"], "no such column"),
    "no tables": (["CREATE TABLE other(x)"], "no such table"),
    "no index and many rows": (["CREATE TABLE runs(id INTEGER, recipe TEXT, status, ceiling)",
                                "INSERT INTO runs WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 400000) SELECT i, 'x', 'done', 0 FROM r",
                                "CREATE TABLE measurements(run, step, last, loss, instances, correct, accuracy, low, high, answers, chance, seconds, tokens_per_second)"], "a look-up takes too long"),
}


@case
def databases_of_strangers_neither_hang_nor_run_what_they_hold():
    sweep({"base": BASE, "runs": [{"seed": 1}]})
    for name, (statements, says) in SCHEMAS.items():
        for f in ("bad.db", "bad.db-wal", "bad.db-shm"):
            if os.path.exists(f):
                os.remove(f)
        db = sqlite3.connect("bad.db")
        db.execute(f"PRAGMA application_id = {0x686f7062}")
        for statement in statements:
            db.execute(statement)
        db.commit()
        db.close()
        for more in (["--show"], []):
            if says == "no such table" and not more:
                continue  # ours are made beside it
            began = time.monotonic()
            r = hopbound("sweep", "sweep.json", "-o", "bad.db", "-q", *more)
            one_line(r, 1, rf"sweep: bad\.db: .*({says}|has no column)")
            check(time.monotonic() - began < 10, r, f"{name}: too slow")


@case
def a_trigger_in_a_database_does_not_run():
    sweep({"base": BASE, "runs": [{"seed": 1}]})
    with sqlite3.connect("runs.db") as db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END")
    r = sweep({"base": BASE, "runs": [{"seed": 1}, {"seed": 2}]})
    check((r["runs"], r["done"]) == (2, 2) and rows("SELECT count(*) FROM runs") == [(2,)], why=str(r))


@case
def a_database_is_a_file_and_no_link_to_nothing():
    sweep({"base": BASE, "runs": [{"seed": 1}]})
    os.mkfifo("pipe.db")
    os.symlink("nothing", "link.db")
    write("empty", "")
    os.symlink("empty", "empty.db")
    os.mkdir("dir.db")
    for name, says in (("pipe.db", "is not a file"), ("dir.db", "is a directory"), ("link.db", "is a link to a file that is not there"),
                       ("empty.db", "is a link to a file that is empty")):
        one_line(hopbound("sweep", "sweep.json", "-o", name), 1, rf"sweep: {name}: {says}")
    check(not os.path.exists("nothing") and read("empty") == b"")
    os.symlink("runs.db", "same.db")
    check(good_json("sweep", "sweep.json", "-o", "same.db")["skipped"] == 1)


@case
def a_sweep_without_runs_is_refused():
    sweep({"base": BASE, "runs": [{"seed": 1}]})
    for plan in ({"grid": []}, {"runs": []}, {"grid": [], "runs": []}):
        write("none.json", json.dumps({"base": BASE, **plan}))
        one_line(hopbound("sweep", "none.json", "-o", "none.db"), 1, "sweep: none.json: no runs: grid and runs, where they are given, are empty")
    check(not os.path.exists("none.db"))
    check(sweep({"base": BASE, "grid": [], "runs": [{"seed": 1}]})["skipped"] == 1)


@case
def a_signal_is_heard_while_many_runs_are_looked_up():
    sweep({"base": BASE, "runs": [{"seed": 1}]})
    write("grid.json", json.dumps({"base": BASE, "grid": {"seed": list(range(200)), "lr": [1e-3 + 1e-6 * i for i in range(1000)]}}))
    for more in ([], ["--show"]):
        p = subprocess.Popen([harness.PROGRAM, "sweep", "grid.json", "-o", "runs.db", *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = next((l for l in p.stderr if b"runs looked up" in l), b"")  # the look-ups have begun, behind the listing
        check(b"runs looked up" in line, why=str(line))
        p.send_signal(signal.SIGINT)
        began = time.monotonic()
        out, err = p.communicate(timeout=60)
        check(p.returncode == 1 and err.splitlines()[-1] == b"hopbound: sweep: stopped: by a signal" and out == b"", why=f"{p.returncode} {err!r}")
        check(time.monotonic() - began < 20, why="too late")
