"""core: against attention computed here in double precision."""
import json, math, os, random, struct
from harness import case, check, good, good_json, hopbound, one_line, read, write

FORMS = ("chunked", "recurrent", "step")


def isas():
    return [i for i in ("ref", "scalar", "avx2", "avx512") if hopbound("task", "--isa", i).code == 0]


def save(path, tensors, metadata=None):
    """tensors: name -> (shape, flat list of numbers)."""
    header, blob = ({"__metadata__": metadata} if metadata else {}), b""
    for name, (shape, values) in tensors.items():
        data = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(blob), len(blob) + len(data)]}
        blob += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return write(path, struct.pack("<Q", len(text)) + text + blob)


def load(path):
    data = read(path)
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    return {n: (tuple(h["shape"]), struct.unpack(f"<{(h['data_offsets'][1] - h['data_offsets'][0]) // 4}f",
                                                 data[8 + size + h["data_offsets"][0]:8 + size + h["data_offsets"][1]]))
            for n, h in header.items() if n != "__metadata__"}


def rand(shape, rng):
    values = [rng.gauss(0, 1) for _ in range(math.prod(shape))]
    return tuple(shape), list(struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))


def attention(q, k, v, do, scale):
    """o and gradients by the definition; tensors [B,T,H,.] as (shape, flat list)."""
    (B, T, H, K), G, V = q[0], k[0][2], v[0][3]
    at = lambda t, b, i, h: slice(((b * t[0][1] + i) * t[0][2] + h) * t[0][3], ((b * t[0][1] + i) * t[0][2] + h + 1) * t[0][3])
    zeros = lambda t: [0.0] * len(t[1])
    o, dq, dk, dv = [0.0] * (B * T * H * V), zeros(q), zeros(k), zeros(v)
    shape_o = ((B, T, H, V), o)
    dot = lambda x, y: math.fsum(a * b for a, b in zip(x, y))
    for b in range(B):
        for h in range(H):
            g = h // (H // G)
            for t in range(T):
                qt, dot_t = q[1][at(q, b, t, h)], do[1][at(do, b, t, h)]
                s = [scale * dot(qt, k[1][at(k, b, j, g)]) for j in range(t + 1)]
                e = [math.exp(x - max(s)) for x in s]
                p = [x / math.fsum(e) for x in e]
                vs = [v[1][at(v, b, j, g)] for j in range(t + 1)]
                o[at(shape_o, b, t, h)] = ot = [math.fsum(p[j] * vs[j][c] for j in range(t + 1)) for c in range(V)]
                for j in range(t + 1):
                    ds = p[j] * (dot(dot_t, vs[j]) - dot(dot_t, ot)) * scale
                    sk, sv, sq = at(k, b, j, g), at(v, b, j, g), at(q, b, t, h)
                    dv[sv] = [x + p[j] * y for x, y in zip(dv[sv], dot_t)]
                    dk[sk] = [x + ds * y for x, y in zip(dk[sk], qt)]
                    dq[sq] = [x + ds * y for x, y in zip(dq[sq], k[1][sk])]
    return {"o": ((B, T, H, V), o), "dq": (q[0], dq), "dk": (k[0], dk), "dv": (v[0], dv)}


def problem(B, T, H, G, K, V, seed):
    rng = random.Random(seed)
    return {"q": rand((B, T, H, K), rng), "k": rand((B, T, G, K), rng), "v": rand((B, T, G, V), rng),
            "do": rand((B, T, H, V), rng)}


@case
def attention_agrees_with_double_precision_in_every_form_and_isa():
    for number, shape in enumerate([(2, 19, 4, 2, 5, 7), (1, 1, 1, 1, 1, 1), (1, 33, 3, 1, 16, 8), (1, 70, 2, 2, 3, 17)]):
        given = problem(*shape, seed=number)
        scale = 0.3 if number % 2 else shape[4] ** -0.5
        want = attention(given["q"], given["k"], given["v"], given["do"], scale)
        save("in", {**given, **want}, {"scale": "0.3"} if number % 2 else None)
        for form in FORMS:
            for isa in isas():
                got = good_json("core", "attention", "--input", "in", "--output", "out", "--form", form, "--isa", isa,
                                keys=["core", "form", "isa", "outputs"])
                check(got["isa"] == ("ref" if form == "recurrent" else isa) and got["form"] == form, why=str(got))
                check([o["name"] for o in got["outputs"]] == ["o", "dq", "dk", "dv"], why=str(got))
                for o in got["outputs"]:
                    check(o["max_error"] < 1e-5 and o["shape"] == list(want[o["name"]][0]) and o["max_abs"] >= 0, why=f"{form} {isa} {o}")
                for name, (shape_out, values) in load("out").items():
                    top = max(map(abs, want[name][1])) or 1
                    worst = max(abs(a - b) for a, b in zip(values, want[name][1])) / top
                    check(shape_out == want[name][0] and worst < 1e-5, why=f"{name} {form} {isa}: {worst}")


@case
def without_do_there_is_only_o_and_without_expected_tensors_no_error():
    given = problem(1, 9, 2, 1, 4, 4, seed=1)
    del given["do"]
    save("in", given)
    got = good_json("core", "attention", "--input", "in", "--output", "out")
    check([(o["name"], o["compared"], o["max_error"]) for o in got["outputs"]] == [("o", False, None)], why=str(got))
    check(set(load("out")) == {"o"})
    check("max |x|" in good("core", "attention", "--input", "in").out)


@case
def the_scale_option_wins_over_the_files_and_the_default_is_the_roots():
    given = problem(1, 9, 1, 1, 4, 4, seed=1)
    save("plain", given)
    save("marked", given, {"scale": "0.25"})
    for path, args, scale in (("plain", [], 0.5), ("marked", [], 0.25), ("marked", ["--scale", "-1.5"], -1.5)):
        good("core", "attention", "--input", path, "--output", "out", *args)
        want = attention(given["q"], given["k"], given["v"], given["do"], scale)["o"][1]
        check(max(abs(a - b) for a, b in zip(load("out")["o"][1], want)) < 1e-5, why=f"{path} {args}")


@case
def results_do_not_depend_on_threads():
    save("in", problem(2, 150, 4, 2, 16, 16, seed=3))
    seen = set()
    for threads in (1, 2, 7):
        good("core", "attention", "--input", "in", "--output", "out", "--threads", threads)
        seen.add(read("out"))
    check(len(seen) == 1)


@case
def tensors_of_the_wrong_shape_or_missing_are_exit_1_naming_them():
    good_one = problem(1, 6, 2, 1, 4, 3, seed=2)
    rng = random.Random(0)
    changes = [("q", None, "q: missing"), ("v", None, "v: missing"), ("q", (6, 2, 4), "q: 3 dimensions"),
               ("k", (1, 6, 1, 5), "k: shape"), ("k", (1, 5, 1, 4), "k: shape"), ("v", (1, 6, 2, 3), "v: shape"),
               ("k", (1, 6, 3, 4), "q: 2 heads"), ("do", (1, 6, 2, 4), "do: shape"), ("q", (1, 0, 2, 4), "q: dimension 1 is empty"),
               ("o", (1, 6, 2, 4), "o: expected"), ("q", (2, 6, 2, 4), "k: shape")]
    for name, shape, pattern in changes:
        tensors = {n: t for n, t in good_one.items() if n != name or shape}
        if shape:
            tensors[name] = rand(shape, rng)
        save("in", tensors)
        one_line(hopbound("core", "attention", "--input", "in"), 1, f"core: .*{pattern}")
    save("in", good_one, {"scale": "wide"})
    one_line(hopbound("core", "attention", "--input", "in", "--output", "out"), 1, "core: .*scale")
    check(not os.path.exists("out"))
