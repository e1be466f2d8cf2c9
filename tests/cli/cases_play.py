"""play: networks as the communication game, in one process and under mpirun."""
import functools, json, os, shutil, signal, subprocess, time
import harness
from harness import Skip, case, check, good, good_json, hopbound, lines_of, one_line, read, write
from cases_kinds import linear_mixers

PLAY_KEYS = ["instances", "identical", "max_difference_from_run", "with_answer", "correct", "accuracy", "players", "edges",
             "total_bits", "query_bits", "as_formulas", "bits", "tokens", "layers", "transport", "ranks", "seconds", "dir"]
EDGE_KEYS = {"layer", "kind", "from", "to", "bits"}
TWELVE = "gdn full mamba2 window full rwkv7 sparse mlstm kda full deltanet rglru"


def play(*args, near=1e-3, **kw):
    got = good_json("play", *args, keys=PLAY_KEYS, **kw)
    check(got["identical"] is True and got["as_formulas"] is True, why=str(got)[:500])
    check(all(EDGE_KEYS <= set(e) for e in got["edges"]), why=str(got["edges"])[:500])
    check(got["total_bits"] == sum(e["bits"] for e in got["edges"]), why="total")
    # The plain pass shares folds and steps with the game, an ordinary run does not. Scores of exact networks are some
    # thousands, of which float32 rounds 2^-24: that moves a softmax weight by 1e-4 and less. Wrong folds are seen best
    # where a softmax mixes, in random networks: one that halves what it adds moves their logits by 0.4. In hundreds of
    # random layers rounding grows without bound.
    check((got["max_difference_from_run"] is not None) == (got["bits"] == 32), why=str(got)[:300])
    check((got["max_difference_from_run"] or 0) <= near, why=str(got["max_difference_from_run"]))
    return got


def replies(layer, tokens, names, heads, dim, bits):
    """A full layer's edges, from the theory: T_j H (d+2) p from every player to every later one."""
    return [{"layer": layer, "kind": "reply", "from": names[i], "to": names[j], "bits": tokens[j] * heads * (dim + 2) * bits}
            for i in range(len(names)) for j in range(i + 1, len(names))]


@case
def full_networks_play_the_plain_pass_and_their_edges_are_those_of_the_theory():
    for hops, fan in ((1, []), (2, [4]), (3, [3, 2])):
        made = good_json("build", "full", "-o", "net", "--hops", hops, "--m", 5, *(["--fan", ",".join(map(str, fan))] if fan else []))
        sizes = [5]
        for f in fan:
            sizes.append(sizes[-1] * f)
        names, tokens = [*range(hops, -2, -1)], [*reversed(sizes), 1, 1]
        for bits in (32, 16, 11):
            got = play("net", "--bits", bits, "--count", 3)
            check((got["instances"], got["correct"], got["bits"], got["ranks"]) == (3, 3, bits, 1), why=str(got)[:300])
            check(got["players"] == [{"name": n, "first": sum(tokens[:i]), "tokens": t}
                                     for i, (n, t) in enumerate(zip(names, tokens))], why=str(got["players"]))
            want = [e for layer in range(hops + 1) for e in replies(layer, tokens, names, 1, made["head_dim"], bits)]
            check([{k: e[k] for k in EDGE_KEYS} for e in got["edges"]] == want, why=str(got["edges"])[:600])
            asked = sum(i * t for i, t in enumerate(tokens))
            check(got["query_bits"] == (hops + 1) * asked * made["head_dim"] * bits, why=str(got["query_bits"]))


@case
def hybrids_of_every_linear_mixer_play_the_plain_pass_and_stay_right():
    for mixer in linear_mixers():
        made = good_json("build", "hybrid", "--mixer", mixer, "-o", "net", "--hops", 2, "--m", 4, "--fan", 3)
        for bits in (32, 16):
            got = play("net", "--bits", bits)
            check(got["correct"] == got["with_answer"] == 4, why=f"{mixer}, {bits} bits: {got['correct']}")
            states = [e for e in got["edges"] if e["kind"] == "state"]
            check([(e["layer"], e["from"], e["to"]) for e in states] == [(0, 2, 1), (0, 1, 0), (0, 0, -1)], why=str(states))
            check(all(e["bits"] == made["state_bits"] // 32 * bits for e in states), why=f"{mixer}: {states}, {made['state_bits']}")


@case
def a_random_hybrid_of_twelve_layers_plays_the_plain_pass_for_any_cut():
    good("build", "random", "--pattern", TWELVE, "-o", "net", "--heads", 4, "--d-model", 32, "--hops", 2)
    for more in ([], ["--players", 1], ["--players", 7], ["--cut", "1,2,40"], ["--threads", 1], ["--isa", "scalar"], ["--isa", "ref"]):
        for bits in (32, 16):
            got = play("net", "--count", 1, "--bits", bits, *more)
            check(len(got["players"]) == {"7": 7, "1": 1}.get(str(more[1]) if more[:1] == ["--players"] else "", 4), why=str(more))
            check(sum(p["tokens"] for p in got["players"]) == got["tokens"] == 42, why=str(got["players"]))


@case
def other_tasks_are_cut_into_equal_segments():
    good("build", "two-sum-sparse", "-o", "net", "--n", 30, "--mod", 8, "--block", 5, "--topk", 2)
    got = play("net")
    check([p["tokens"] for p in got["players"]] == [8, 8, 7, 7] and got["correct"] == 4, why=str(got)[:300])
    good("build", "two-sum-full", "-o", "net", "--n", 3, "--mod", 8)
    check(len(play("net")["players"]) == 3)


@case
def counts_do_not_depend_on_seed_instances_or_threads():
    good("build", "hybrid", "-o", "net", "--hops", 2)
    edges = [play("net", *more)["edges"] for more in ([], ["--seed", 9], ["--count", 1], ["--threads", 3])]
    check(all(e == edges[0] for e in edges))


@case
def play_reads_instances_of_one_length():
    good("build", "full", "-o", "net", "--hops", 2, "--m", 2, "--fan", 2)
    fits = [3, 0, 2, 1, 1, 0, 0, 1]
    lines = [{"tokens": fits, "answer": 1}, {"tokens": fits, "answer": 0}, {"tokens": fits}]
    write("in.jsonl", "\n".join(map(json.dumps, lines)))
    got = play("net", "--input", "in.jsonl")
    check((got["instances"], got["with_answer"], got["correct"]) == (3, 3, 2), why=str(got)[:300])
    check(play("net", "--input", "-", "--count", 2, stdin=read("in.jsonl"))["instances"] == 2)
    write("in.jsonl", json.dumps({"tokens": fits[:5]}))
    got = play("net", "--input", "in.jsonl")
    check((got["with_answer"], got["accuracy"], len(got["players"])) == (0, None, 4), why=str(got)[:300])
    write("in.jsonl", json.dumps({"tokens": fits}) + "\n" + json.dumps({"tokens": fits}))
    check(play("net", "--input", "in.jsonl", "--count", 1)["instances"] == 1)
    for bad, why in (([fits + fits], r"in\.jsonl:1: 16 tokens: the network takes"), ([fits, fits[:7]], r"in\.jsonl:2: 7 tokens where the first"), ([fits, [9] * 8], r"in\.jsonl:2: token 9"), ([], "no instance")):
        write("in.jsonl", "".join(json.dumps({"tokens": t}) + "\n" for t in bad))
        one_line(hopbound("play", "net", "--input", "in.jsonl"), 1, "play: .*" + why)


@case
def without_comparing_identical_is_null_and_the_rest_the_same():
    good("build", "full", "-o", "net", "--hops", 2)
    with_it = play("net")
    without = good_json("play", "net", "--no-compare", keys=PLAY_KEYS)
    check(without["max_difference_from_run"] is None, why=str(without)[:300])
    check(without["identical"] is None and without["edges"] == with_it["edges"] and without["correct"] == 4, why=str(without)[:300])


@case
def the_table_fits_a_screen_and_has_the_formulas():
    good("build", "hybrid", "-o", "net", "--hops", 2)
    text = good("play", "net").out
    check("4 instances, " in text and "4 players hold" in text and "logits differ from `run`'s by at most" in text, why=text)
    text = good("play", "net", "--count", 1, "--players", 1, "--bits", 16).out
    check("1 instance, " in text and "1 player holds" in text and "`run`" not in text, why=text)
    text = good("play", "net").out
    check("state s p = " in text and "reply T H (d+2) p = 8 x 1 x (" in text and "plain pass" in text, why=text)
    good("build", "random", "--pattern", "(L F)^50", "--d-model", 8, "-o", "net", "--hops", 2)
    for args in ([], ["--players", 9]):
        text = good("play", "net", "--count", 1, *args).out
        check(text.count("\n") < 24 and "deltanet" in text and "reply T H (d+2) p" in text, why=text)


@case
def a_deep_seeded_network_plays_layer_by_layer():
    good("build", "random", "--pattern", "L^300 F L^300", "--seeded", "--d-model", 8, "-o", "net", "--hops", 1)
    got = play("net", "--count", 1, near=float("inf"))
    check(len(got["edges"]) == 600 * 2 + 3 and got["layers"] == 601, why=str(len(got["edges"])))
    check("0-299" in good("play", "net", "--count", 1).out)


@case
def run_under_the_same_arithmetic_predicts_what_is_played():
    good("build", "random", "--pattern", TWELVE, "-o", "net", "--heads", 2, "--d-model", 16, "--hops", 2)
    for bits in (32, 10):
        ran = good_json("run", "net", "--count", 40, "--message-bits", bits, "--threads", 3)
        check(ran["message_bits"] == bits and ran["correct"] == play("net", "--count", 40, "--bits", bits)["correct"], why=str(ran))
    check("24 bits, 16 bits between 4 players" in good("run", "net", "--message-bits", 16, "--players", 4).out)
    check("1 instance, " in good("run", "net", "--count", 1).out)
    good("run", "net", "--count", 40, "--message-bits", 10, "--predictions", "a")
    good("run", "net", "--count", 40, "--predictions", "b")
    check(read("a") != read("b"), why="ten bits change nothing")
    one_line(hopbound("run", "net", "--players", 3), 2, "--players: needs --message-bits")
    one_line(hopbound("run", "net", "--message-bits", 16, "--precision", 8), 2, "--message-bits: not with")


@case
def what_cannot_be_played_is_refused_in_one_line():
    good("build", "encoder", "-o", "both", "--hops", 2)
    good("build", "cot", "-o", "cot", "--hops", 2)
    good("build", "full", "-o", "net", "--hops", 2)
    one_line(hopbound("play", "both"), 1, "looks both ways")
    one_line(hopbound("run", "both", "--message-bits", 32), 1, "looks both ways")
    one_line(hopbound("play", "cot"), 1, "generates")
    one_line(hopbound("play", "none"), 1, "play: none")
    one_line(hopbound("play", "net", "--hops", 3), 1, "tokens: the network takes")
    for args, why in ((["--bits", 9], "--bits"), (["--players", 0], "--players"), (["--players", 60], "--players: 60 players: 42 tokens"),
                      (["--cut", "5,5"], "--cut"), (["--cut", "5,3"], "--cut: a cut at 3:"), (["--cut", 42], "--cut"), (["--cut", 5, "--players", 2], "--cut: not together"),
                      (["--count", 0], "--count")):
        one_line(hopbound("play", "net", *args), 2, why)


# ---- mpirun ------------------------------------------------------------------------------------

MPI_QUIET = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
             "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


@functools.cache
def why_no_mpi():
    """Asked once: a launcher whose job fails takes seconds to say so."""
    if not shutil.which("mpirun"):
        return "no mpirun"
    probe = subprocess.run(["mpirun", "-n", "1", harness.PROGRAM, "play", "nowhere"], capture_output=True, timeout=60,
                           env={**os.environ, **MPI_QUIET}).stderr.decode()
    if "built without MPI" in probe:
        return "built without MPI"
    return "" if "nowhere" in probe else "mpirun does not start: " + probe[:200]


def mpirun(ranks):
    """The launcher's command line."""
    if why_no_mpi():
        raise Skip(why_no_mpi())
    return ["mpirun", "-n", str(ranks), harness.PROGRAM, "play"]


def mpi_play(ranks, *args):
    p = subprocess.run([*mpirun(ranks), *map(str, args)], capture_output=True, timeout=120, env={**os.environ, **MPI_QUIET})
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def ours(err):
    return [line for line in err.splitlines() if line.startswith("hopbound: ")]


@case
def ranks_of_mpirun_send_the_same_bits_as_one_process():
    mpirun(1)
    good("build", "full", "-o", "full", "--hops", 3, "--m", 4, "--fan", "2,3")
    good("build", "random", "--pattern", TWELVE, "-o", "mixed", "--heads", 4, "--d-model", 32, "--hops", 2)
    for net, ranks, more in (("full", 5, []), ("full", 2, ["--bits", 16]), ("mixed", 5, ["--players", 7]), ("mixed", 3, []), ("full", 7, [])):
        alone = play(net, "--count", 2, *more)
        code, out, err = mpi_play(ranks, net, "--count", 2, "--json", *more)
        check(code == 0 and out.count("\n") == 1, why=f"{code} {out[:300]} {err}")
        got = json.loads(out)
        check((got["transport"], got["ranks"]) == ("mpi", ranks), why=out[:300])
        for key in ("identical", "players", "edges", "total_bits", "query_bits", "correct", "as_formulas"):
            check(got[key] == alone[key], why=f"{net}, {ranks} ranks, {key}")
        start, end = out.index('"edges"'), out.index('"total_bits"')
        check(out[start:end] in good("play", net, "--count", 2, "--json", *more).out, why="not byte for byte")


@case
def long_messages_between_ranks_do_not_block_each_other():
    mpirun(1)
    good("build", "random", "--pattern", "full sparse full", "-o", "net", "--heads", 4, "--d-model", 64, "--task", "khop", "--n", 3000)
    alone = play("net", "--count", 1, "--players", 4)
    code, out, err = mpi_play(4, "net", "--count", 1, "--players", 4, "--json", "--threads", 1)
    check(code == 0, why=err)
    got = json.loads(out)
    check(got["identical"] is True and got["edges"] == alone["edges"], why=out[:300])
    check(max(e["bits"] for e in got["edges"]) > 8e6, why="a megabyte at once")


@case
def ranks_of_many_players_and_many_layers_wait_for_nobody_in_a_circle():
    mpirun(1)
    good("build", "random", "--pattern", "full sparse full", "-o", "many", "--heads", 4, "--d-model", 128, "--mlp", "none",
         "--task", "khop", "--n", 1500)  # 150 players of ten rows: messages of 5 kB that no launcher sends eagerly
    good("build", "random", "--pattern", "(L^90 F)^3 L^200", "--seeded", "--d-model", 8, "-o", "deep", "--hops", 2)
    for net, ranks, more in (("many", 2, ["--players", 150]), ("deep", 3, [])):
        alone = play(net, "--count", 2, *more, near=float("inf") if net == "deep" else 1e-3)
        code, out, err = mpi_play(ranks, net, "--count", 2, "--json", "--threads", 1, *more)
        check(code == 0, why=f"{code} {err}")
        check(json.loads(out)["edges"] == alone["edges"] and json.loads(out)["identical"] is True, why=out[:300])


@case
def a_failure_of_all_ranks_is_said_once():
    mpirun(1)
    code, out, err = mpi_play(3, "nowhere")
    check(code == 1 and out == "" and len(ours(err)) == 1, why=f"{code} {err}")


@case
def ranks_end_with_the_code_of_a_lone_process():
    mpirun(1)
    good("build", "full", "-o", "net", "--hops", 2, "--m", 2, "--fan", 2)
    for args, code, why in ((["--input", "-"], 2, "ranks do not share"), (["--cut", 8], 2, "--cut: a cut at 8")):
        got, out, err = mpi_play(3, "net", *args)
        check(got == code and out == "" and len(ours(err)) == 1 and why in ours(err)[0], why=f"{got} {err}")


@case
def ranks_that_were_given_other_things_end_with_one_line():
    mpirun(1)
    good("build", "full", "-o", "net", "--hops", 2, "--m", 2, "--fan", 2)
    line = json.dumps({"tokens": [3, 0, 2, 1, 1, 0, 0, 1]}) + "\n"
    write("two.jsonl", 2 * line)
    write("three.jsonl", 3 * line)
    for first, second, at in ((["--count", 2], ["--count", 3], 3), (["--input", "three.jsonl"], ["--input", "two.jsonl"], 3),
                              (["--no-compare"], [], 1)):
        one = [harness.PROGRAM, "play", "net"]
        command = ["mpirun", "-n", "1", *one, *first, ":", "-n", "1", *one, *second]
        p = subprocess.run([*map(str, command)], capture_output=True, timeout=60, env={**os.environ, **MPI_QUIET})
        said = ours(p.stderr.decode())
        check(p.returncode == 1 and p.stdout == b"" and len(said) == 1 and f"ranks differ at instance {at}:" in said[0],
              why=f"{command}: {p.returncode} {p.stderr.decode()}")


@case
def a_failure_of_one_rank_ends_the_others_with_its_line():
    mpirun(1)
    good("build", "full", "-o", "net", "--hops", 2, "--m", 2, "--fan", 2)
    write("in.jsonl", json.dumps({"tokens": [3, 0, 2, 1, 1, 0, 0, 9]}))  # only the last rank looks at the 9
    code, out, err = mpi_play(3, "net", "--input", "in.jsonl")
    check(code == 1 and out == "" and len(ours(err)) == 1 and "in.jsonl:1: token 9" in ours(err)[0] and "MPI_ABORT" not in err,
          why=f"{code} {err}")


def children(pid):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = read(f"/proc/{entry}/stat").decode().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(stat[1]) == pid:
                found.append(int(entry))
    return found


def while_three_ranks_play(act):
    """Starts them, does `act` to the launcher; code, standard error and seconds from there to the end."""
    if not os.path.isdir("/proc/self"):
        raise Skip("no /proc to find the ranks in")
    command = mpirun(3)
    good("build", "full", "-o", "net", "--hops", 3)
    p = subprocess.Popen([*command, "net", "--count", "1000000000", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         env={**os.environ, **MPI_QUIET})
    try:
        deadline = time.time() + 30
        while len(children(p.pid)) < 3 and time.time() < deadline:
            time.sleep(0.05)
        time.sleep(1)  # they are playing
        check(p.poll() is None, why="ended by itself")
        act(p)
        began = time.time()
        out, err = p.communicate(timeout=60)
        check(p.returncode != 0 and time.time() - began < 20, why=f"{p.returncode} after {time.time() - began}")
        check(out == b"" and b"MPI_ABORT" not in err, why=err.decode())
        return err.decode()
    finally:
        if p.poll() is None:
            p.kill()
            p.communicate()


@case
def a_killed_rank_ends_the_job_within_seconds():
    err = while_three_ranks_play(lambda p: os.kill(sorted(children(p.pid))[1], signal.SIGKILL))
    check("signal 9" in err and len(ours(err)) <= 1, why=err)


@case
def interrupted_ranks_say_so_at_most_once():
    err = while_three_ranks_play(lambda p: p.send_signal(signal.SIGINT))
    # A launcher that was interrupted does not always pass on what ranks say last.
    check(ours(err) in ([], ["hopbound: play: stopped: by a signal"]), why=err)


@case
def an_interrupted_game_says_so_and_ends():
    good("build", "full", "-o", "net", "--hops", 3)
    p = subprocess.Popen([harness.PROGRAM, "play", "net", "--count", "1000000000", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.7)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=30)
    check(p.returncode == 1 and out == b"" and err == b"hopbound: play: stopped: by a signal\n", why=f"{p.returncode} {err}")
