"""sweep: grids and lists, the database, interruptions, ranks."""
import json, os, shutil, signal, sqlite3, subprocess, time
import harness
from harness import Skip, case, check, good, good_json, hopbound, one_line, read, write
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
def parts_of_a_sweep_share_it_out():
    plan = {"base": {**BASE, "steps": 2}, "grid": {"seed": [1, 2, 3, 4, 5]}}
    counts = [sweep(plan, "--part", f"{k}/2", name=f"{k}.db")["runs"] for k in (1, 2)]
    check(counts == [3, 2], why=str(counts))
    one_line(hopbound("sweep", "sweep.json", "-o", "x.db", "--part", "3/2"), 2, "--part")


@case
def what_is_no_sweep_is_one_line():
    sweep({"base": {**BASE, "steps": 1}})
    for text, pattern in (("[]", "an object"), ('{"grids": {}}', "grids: unknown key"), ('{"grid": {"lr": 1}}', "lr: not a list"),
                          ('{"grid": {"lr": [1, "x"]}}', "run 2: lr"), ('{"runs": [{"stpes": 1}]}', "run 1: stpes"), ("{", "line 1")):
        write("bad.json", text)
        one_line(hopbound("sweep", "bad.json", "-o", "bad.db"), 1, pattern)
        check(not os.path.exists("bad.db"), why=text)
    write("text.db", "this is not a database, but it is long enough to look like a file of some kind\n" * 20)
    one_line(hopbound("sweep", "sweep.json", "-o", "text.db"), 1, "text.db: ")
    with sqlite3.connect("other.db") as db:
        db.execute("CREATE TABLE mine(x)")
    one_line(hopbound("sweep", "sweep.json", "-o", "other.db"), 1, "something else")


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
