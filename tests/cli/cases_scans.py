"""core decay, delta, dplr, mlstm, selective: against recurrences computed here, plainly and in double precision."""
import math, os, random, struct
from cases_core import FORMS, isas, load, rand, save
from harness import DATA, case, check, good, good_json, hopbound, one_line, read


# ---- the recurrences -------------------------------------------------------------------------

class Tensor:
    """A flat list with a shape; t[b, t, h] is a row when dimensions are missing, a number when none is."""
    def __init__(self, shape, values=None):
        self.shape, self.values = tuple(shape), list(values) if values is not None else [0.0] * math.prod(shape)

    def at(self, index):
        place = 0
        for i, n in zip(index, self.shape):
            place = place * n + i
        size = math.prod(self.shape[len(index):])
        return place * size, size

    def __getitem__(self, index):
        place, size = self.at(index)
        return self.values[place] if len(index) == len(self.shape) else self.values[place:place + size]

    def __setitem__(self, index, row):
        place, size = self.at(index)
        self.values[place:place + size] = row if len(index) < len(self.shape) else [row]


def dot(x, y):
    return math.fsum(a * b for a, b in zip(x, y))


def log_decay(g, b, t, h, K):
    """The log decay of every element of the key, in whichever of its shapes g comes."""
    if g is None:
        return [0.0] * K
    rank = len(g.shape)
    return [g[h,]] * K if rank == 1 else [g[b, t, h]] * K if rank == 3 else g[b, t, h]


def scan(core, x, scale):
    """o and the states after the last token."""
    (B, T, G, K), (H, V) = x["q"].shape, x["v"].shape[2:]
    o, S_end = Tensor((B, T, H, V)), Tensor((B, H, K, V))
    n_end, m_end = Tensor((B, H, K)), Tensor((B, H))
    for b in range(B):
        for h in range(H):
            first = x.get("initial_state")
            S = [(first[b, h][i * V:(i + 1) * V] if first else [0.0] * V) for i in range(K)]
            n = list(x["initial_n"][b, h]) if "initial_n" in x else [0.0] * K
            m = x["initial_m"][b, h] if "initial_m" in x else 0.0
            for t in range(T):
                q, k, v = [scale * e for e in x["q"][b, t, h // (H // G)]], x["k"][b, t, h // (H // G)], x["v"][b, t, h]
                decay = [math.exp(e) for e in log_decay(x.get("g"), b, t, h, K)]
                read = lambda: [dot(q, [row[c] for row in S]) for c in range(V)]
                if core == "mlstm":
                    forget = -math.log1p(math.exp(-x["f"][b, t, h])) if x["f"][b, t, h] > -30 else x["f"][b, t, h]
                    new = max(forget + m, x["i"][b, t, h])
                    keep, write, m = math.exp(forget + m - new), math.exp(x["i"][b, t, h] - new), new
                    S = [[keep * e + write * k[i] * v[c] for c, e in enumerate(row)] for i, row in enumerate(S)]
                    n = [keep * e + write * k[i] for i, e in enumerate(n)]
                    below = max(abs(dot(q, n)), math.exp(-m)) + 1e-6
                    o[b, t, h] = [e / below for e in read()]
                    continue
                if core == "decay" and "u" in x:
                    old, S = S, [[e + x["u"][h, i] * k[i] * v[c] for c, e in enumerate(row)] for i, row in enumerate(S)]
                    o[b, t, h] = read()
                    S = old
                low = [dot(x["a"][b, t, h], [row[c] for row in S]) for c in range(V)] if core == "dplr" else None
                S = [[decay[i] * e for e in row] for i, row in enumerate(S)]
                if core == "delta":
                    beta = x["beta"][b, t, h]
                    v = [beta * (v[c] - dot(k, [row[c] for row in S])) for c in range(V)]
                extra = x["b"][b, t, h] if core == "dplr" else [0.0] * K
                S = [[e + k[i] * v[c] + (extra[i] * low[c] if low else 0.0) for c, e in enumerate(row)] for i, row in enumerate(S)]
                if "u" not in x:
                    o[b, t, h] = read()
            S_end[b, h] = [e for row in S for e in row]
            n_end[b, h], m_end[b, h] = n, m
    return {"o": o, "final_state": S_end, **({"final_n": n_end, "final_m": m_end} if core == "mlstm" else {})}


def selective(x):
    (B, T, D), N = x["x"].shape, x["A"].shape[1]
    o, end = Tensor((B, T, D)), Tensor((B, D, N))
    for b in range(B):
        for d in range(D):
            h = list(x["initial_state"][b, d]) if "initial_state" in x else [0.0] * N
            for t in range(T):
                u, step = x["x"][b, t, d], x["delta"][b, t, d]
                h = [math.exp(step * x["A"][d, n]) * h[n] + step * x["B"][b, t, n] * u for n in range(N)]
                o[b, t, d] = dot(x["C"][b, t], h) + (x["D"][d,] * u if "D" in x else 0.0)
            end[b, d] = h
    return {"o": o, "final_state": end}


def outputs(core, x, scale):
    return selective(x) if core == "selective" else scan(core, x, scale)


def gradients(core, x, scale, d_o):
    """Central differences in double precision: good to about 1e-9."""
    step, made = 1e-5, {}
    total = lambda: dot(outputs(core, x, scale)["o"].values, d_o.values)
    for name, t in x.items():
        made["d" + name] = Tensor(t.shape)
        for i, old in enumerate(t.values):
            t.values[i] = old + step
            up = total()
            t.values[i] = old - step
            made["d" + name].values[i] = (up - total()) / (2 * step)
            t.values[i] = old
    return made


# ---- problems --------------------------------------------------------------------------------

def normal(shape, rng, scale=1.0, shift=0.0):
    shape, values = rand(shape, rng)
    return Tensor(shape, rand_round([shift + scale * v for v in values]))


def rand_round(values):
    return list(struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))


def minus_softplus(shape, rng):
    t = normal(shape, rng)
    t.values = rand_round([-math.log1p(math.exp(v)) for v in t.values])
    return t


def problem(core, rng, B=1, T=5, G=1, H=1, K=3, V=2, gate=None, extras=()):
    if core == "selective":
        x = {"x": normal((B, T, H), rng), "delta": normal((B, T, H), rng, 0.3, 1.0), "A": minus_softplus((H, K), rng),
             "B": normal((B, T, K), rng), "C": normal((B, T, K), rng)}
        if "D" in extras:
            x["D"] = normal((H,), rng)
        if "initial_state" in extras:
            x["initial_state"] = normal((B, H, K), rng)
        return x
    x = {"q": normal((B, T, G, K), rng), "k": normal((B, T, G, K), rng, K ** -0.5), "v": normal((B, T, H, V), rng)}
    if gate:
        x["g"] = minus_softplus({"head": (H,), "token": (B, T, H), "key": (B, T, H, K)}[gate], rng)
    if core == "delta":
        x["beta"] = normal((B, T, H), rng, 0.3, 0.8)
    if core == "dplr":
        x["a"], x["b"] = normal((B, T, H, K), rng, 0.4), normal((B, T, H, K), rng, 0.4)
    if core == "mlstm":
        x["i"], x["f"] = normal((B, T, H), rng), normal((B, T, H), rng, 1.0, 2.0)
    shapes = {"u": (H, K), "initial_state": (B, H, K, V), "initial_n": (B, H, K), "initial_m": (B, H)}
    for name in extras:
        x[name] = normal(shapes[name], rng)
    return x


def plain(tensors):
    return {n: (t.shape, t.values) for n, t in tensors.items()}


def compare(core, x, want, metadata=None, more=(), forms=FORMS, tables=None):
    """Runs the core on the file in every form and table; every output must be there, right, and be said to be right."""
    save("in", plain({**x, **want}), metadata)
    for form in forms:
        for isa in tables or isas():
            where = f"{core} {form} {isa} {({n: t.shape for n, t in x.items()})}"
            got = good_json("core", core, "--input", "in", "--output", "out", "--form", form, "--isa", isa, *more)
            check(got["isa"] == isa and got["form"] == form and got["core"] == core, why=where)
            made = load("out")
            names = {n for n in want if n != "do"}
            check({o["name"] for o in got["outputs"]} == names == set(made), why=f"{where}: {sorted(made)}")
            for o in got["outputs"]:
                check(o["max_error"] < 1e-5, why=f"{where}: {o}")
            for name in names:
                top = max(map(abs, want[name].values)) or 1
                worst = max(abs(a - b) for a, b in zip(made[name][1], want[name].values)) / top
                check(made[name][0] == want[name].shape and worst < 1e-5, why=f"{where}: {name} {worst}")


def with_gradients(core, x, scale, rng):
    want = outputs(core, x, scale)
    want["do"] = normal(want["o"].shape, rng)
    return {**want, **gradients(core, x, scale, want["do"])}


# ---- cases -----------------------------------------------------------------------------------

GATES = (None, "head", "token", "key")


@case
def the_given_core_files_agree_in_every_form_and_isa():
    for core, name in (("attention", "attention"), ("decay", "decay_scalar"), ("delta", "delta_plain"), ("selective", "selective")):
        path = os.path.join(DATA, "cores", name + ".safetensors")
        wanted = set(load(path)) & {"o", "final_state", "dq", "dk", "dv", "dg", "dbeta", "dx", "ddelta", "dA", "dB", "dC", "dD"}
        for form in FORMS:
            for isa in isas():
                got = good_json("core", core, "--input", path, "--form", form, "--isa", isa)
                check({o["name"] for o in got["outputs"]} == wanted, why=str(got))
                check(all(o["max_error"] < 1e-5 for o in got["outputs"]), why=f"{core} {form} {isa} {got}")


@case
def every_gate_of_decay_delta_and_dplr_agrees_with_its_gradients():
    rng = random.Random(1)
    for core in ("decay", "delta", "dplr"):
        for gate in GATES:
            x = problem(core, rng, B=2, T=4, G=2, H=2, K=3, V=2, gate=gate, extras=["initial_state"])
            compare(core, x, with_gradients(core, x, 1 if core == "dplr" else 3 ** -0.5, rng))


@case
def value_heads_may_share_key_heads_and_gradients_are_summed():
    rng = random.Random(2)
    for core, gate in (("decay", "token"), ("decay", "key"), ("delta", "token"), ("delta", "key"), ("mlstm", None)):
        x = problem(core, rng, T=3, G=2, H=6, K=3, V=2, gate=gate)
        compare(core, x, with_gradients(core, x, 0.7, rng), {"scale": "0.7"})


@case
def the_bonus_of_decay_agrees():
    rng = random.Random(3)
    for gate in (None, "key"):
        x = problem("decay", rng, B=2, T=4, G=2, H=2, K=3, V=2, gate=gate, extras=["u", "initial_state"])
        compare("decay", x, with_gradients("decay", x, 1.0, rng), more=["--scale", 1])


@case
def mlstm_agrees_from_any_state():
    rng = random.Random(4)
    for extras in ([], ["initial_state", "initial_n", "initial_m"]):
        x = problem("mlstm", rng, B=2, T=5, G=2, H=2, K=3, V=2, extras=extras)
        compare("mlstm", x, with_gradients("mlstm", x, 3 ** -0.5, rng))


@case
def selective_agrees_with_and_without_a_skip_and_a_state():
    rng = random.Random(5)
    for extras in ([], ["D"], ["D", "initial_state"]):
        x = problem("selective", rng, B=2, T=4, H=5, K=3, extras=extras)
        compare("selective", x, with_gradients("selective", x, 1, rng))


@case
def any_shape_and_length_agrees_forwards():
    rng = random.Random(6)
    shapes = [dict(T=1, K=1, V=1), dict(T=2, K=5, V=3), dict(T=63, K=3, V=2), dict(T=64, K=2, V=5), dict(T=65, K=17, V=1),
              dict(T=131, G=2, H=2, K=4, V=9), dict(B=3, T=7, K=33, V=3)]
    for number, shape in enumerate(shapes):
        for core in ("decay", "delta", "dplr", "mlstm", "selective"):
            x = problem(core, rng, **shape, gate=GATES[number % 4] if core in ("decay", "delta", "dplr") else None)
            if core in ("delta", "dplr"):  # short keys, as the mixers have them: else the state explodes
                x["k"].values = rand_round([v * 0.3 for v in x["k"].values])
            scale = 1 if core == "dplr" else shape["K"] ** -0.5
            compare(core, x, outputs(core, x, scale))


@case
def extreme_gates_give_no_nan_and_no_drift_between_the_forms():
    rng = random.Random(7)
    for core in ("decay", "delta", "dplr"):
        for gate in ("token", "key"):
            x = problem(core, rng, T=70, K=4, V=3, gate=gate)
            x["g"].values = [rng.choice([0.0, -60.0, -1e-3, -5.0]) for _ in x["g"].values]
            x["k"].values = rand_round([v * 0.3 for v in x["k"].values])
            if core == "delta":
                x["beta"].values = [rng.choice([0.0, 1.0, 2.0]) for _ in x["beta"].values]
            compare(core, x, outputs(core, x, 0.5), {"scale": "0.5"})
    x = problem("mlstm", rng, T=70, K=4, V=3)
    x["i"].values = [rng.choice([-60.0, 0.0, 60.0]) for _ in x["i"].values]
    x["f"].values = [rng.choice([-60.0, 0.0, 60.0]) for _ in x["f"].values]
    compare("mlstm", x, outputs("mlstm", x, 0.5), {"scale": "0.5"})


@case
def cores_do_not_depend_on_threads():
    rng = random.Random(8)
    for core in ("decay", "delta", "dplr", "mlstm", "selective"):
        shape = dict(B=2, T=70, G=8, H=8, K=16, V=16) if core != "selective" else dict(B=2, T=70, H=150, K=16)
        x = problem(core, rng, **shape, gate="token" if core in ("decay", "delta") else None)
        if "k" in x:
            x["k"].values = rand_round([v * 0.2 for v in x["k"].values])
        x["do"] = normal(x["v"].shape if "v" in x else x["x"].shape, rng)
        save("in", plain(x))
        seen = set()
        for threads in (1, 2, 5):
            good("core", core, "--input", "in", "--output", "out", "--threads", threads)
            seen.add(read("out"))
        check(len(seen) == 1, why=core)


@case
def tensors_that_do_not_fit_a_recurrence_are_exit_1_naming_them():
    rng = random.Random(9)
    full = dict(B=1, T=4, G=2, H=2, K=3, V=2)
    changes = {
        "decay": [("q", None, "q: missing"), ("v", None, "v: missing"), ("k", (1, 4, 2, 4), r"k: shape \[1,4,2,4\] where \[1,4,2,3\]"),
                  ("k", (1, 4, 1, 3), "k: shape"), ("v", (1, 4, 3, 2), "v: 3 heads are no multiple of k's 2"), ("v", (1, 4, 2), "v: 3 dimensions"),
                  ("g", (3,), "g: shape"), ("g", (4, 2), "g: 2 dimensions where 1 or 3 or 4"), ("g", (1, 4, 2, 2), "g: shape"), ("u", (2, 2), "u: shape"),
                  ("initial_state", (1, 2, 2, 3), "initial_state: shape"), ("do", (1, 4, 2, 3), "do: shape"), ("q", (1, 0, 2, 3), "q: dimension 1 is empty"),
                  ("o", (1, 4, 2, 3), "o: expected"), ("final_state", (1, 2, 3), "final_state: expected")],
        "delta": [("beta", None, "beta: missing"), ("beta", (1, 4, 3), "beta: shape"), ("beta", (1, 4), "beta: 2 dimensions")],
        "dplr": [("a", None, "a: missing"), ("b", (1, 4, 2, 2), "b: shape"), ("v", (1, 4, 4, 2), "(v|a): ")],
        "mlstm": [("i", None, "i: missing"), ("f", None, "f: missing"), ("f", (1, 3, 2), "f: shape"), ("initial_n", (1, 2, 2), "initial_n: shape")],
        "selective": [("A", None, "A: missing"), ("delta", (1, 4, 3), "delta: shape"), ("B", (1, 4, 2), "B: shape"), ("D", (3,), "D: shape"),
                      ("C", (1, 4, 1), "C: shape"), ("initial_state", (1, 3, 2), "initial_state: shape")],
    }
    for core, list_ in changes.items():
        for name, shape, pattern in list_:
            x = problem(core, rng, **full)
            if shape is None:
                del x[name]
            else:
                x[name] = normal(shape, rng)
            save("in", plain(x))
            one_line(hopbound("core", core, "--input", "in", "--output", "out"), 1, f"core: .*{pattern}")
            check(not os.path.exists("out") or pattern.endswith("expected"), why=f"{core} {name}")
            if os.path.exists("out"):
                os.remove("out")
