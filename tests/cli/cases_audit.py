"""Audits: the fixtures of real models, own networks, and files that are no use."""
import csv, json, math, os, re, time
from harness import case, check, good, good_json, hopbound, one_line, write

TREE = os.path.abspath(os.environ.get("HOPBOUND_TEST_DATA") or os.path.join(os.path.dirname(__file__), "../data"))
DATA, FAMILIES = os.path.join(TREE, "configs"), os.path.join(TREE, "families")
KEYS = ("model_type", "layers", "pattern", "counts", "attention", "linear", "state_bytes_per_layer")


def compare(name, what, got, want):
    """Every field that is wanted must be there and equal; notes are prose."""
    for key, value in want.items():
        if key != "note":
            check(got and got.get(key) == value, why=f"{name}: {what}.{key}: {got and got.get(key)!r}, wanted {value!r}")


@case
def every_fixture_is_read_as_expected():
    expected = json.load(open(os.path.join(DATA, "expected.json")))
    check(len(expected) == 39)
    for name, want in expected.items():
        got = good_json("audit", os.path.join(DATA, name + ".json"), "--plan-only", keys=KEYS)
        plain = {k: v for k, v in want.items() if k not in ("attn", "attn_sliding", "linear")}
        compare(name, "", {"window": None, "index_topk": None, **got}, {"window": None, "index_topk": None, **plain})
        for ours, theirs in (("attention", "attn"), ("attention_sliding", "attn_sliding"), ("linear", "linear")):
            if theirs in want:
                compare(name, ours, got.get(ours), want[theirs])
            else:
                check(got.get(ours) is None, why=f"{name}: {ours} is there")
        check(sum(got["counts"].values()) == got["layers"] == len(got["pattern"]) == len(got["bytes_per_layer"]), why=name)
        if "linear" in want:
            declared = not want["linear"].get("state_dtype", "(assumed)").endswith("(assumed)")
            check(declared == bool(got["linear"].get("state_dtype_declared_by")), why=f"{name}: declared or assumed")
            check(got["state_bytes_per_layer"] == want["linear"]["bytes_fp32_state_16bit_conv"], why=name)


@case
def families_are_read_by_their_own_rule_or_refused():
    expected = json.load(open(os.path.join(FAMILIES, "expected.json")))
    check(sorted(expected) == sorted(f[:-5] for f in os.listdir(FAMILIES) if f != "expected.json"))
    for name, want in expected.items():
        path = os.path.join(FAMILIES, name + ".json")
        if "refused" in want:
            one_line(hopbound("audit", path), 1, rf"audit: .*{name}\.json: .*{want['refused']}")
        else:
            got = good_json("audit", path, "--plan-only", keys=KEYS)
            compare(name, "", {"window": None, "loops": None, **got}, {"window": None, "loops": None, **want})


@case
def what_our_theorems_call_impossible_of_a_model_has_a_certificate():
    seen = {}
    for directory in (DATA, FAMILIES):
        for m in json.loads(hopbound("audit", directory, "--json").out)["models"]:
            by, first = m["impossible_by"], m["impossible_from_n"]
            check(m["machine_checked"] is (by and by[0] == "P"), why=str(m))  # T: published theorems, on paper
            seen.setdefault(by, m)
            if not by or not first.isdigit() or int(first) > 2**40 or seen[by] is not m:
                continue
            results = good_json("audit", m["path"], "-n", first)["hops"]["results"]  # each by itself; P3's share is on paper
            said = [r for r in results if r["verdict"] == "impossible"]
            check(by in [r["id"] for r in said], why=f"{m}: {results}")
            check(all(r["machine_checked"] is (r["id"][0] == "P" and r["id"] != "P3") for r in said), why=f"{m}: {said}")
    check({"P2", "P4", "P6", "P7G", "P8", "P9"} <= set(seen), why=str(sorted(map(str, seen))))


WALRUS = """# every sixth layer is full, counted from the end
family walrus walrus_text: class layers 24, hidden 2048, heads 16, kv_heads 4, window 1024
  plan F if (n-1-i) % full_every:6 == 0, S by full_every
family llama: like qwen3
family odd: like walrus; state oddly; attention oddly
  plan names kinds walk=L stand=F
  refuse has(strange_key), strange_key: {strange_key} is not known
attention oddly: heads = heads; kv = heads; dim = head_width!; remark a head of its own
state oddly: h = memory_heads:8; kind gla; shape h, key_size:32, 2 * key_size:32; conv = h * (taps:4 - 1)
"""


@case
def a_families_file_adds_rows_and_overrides_them():
    write("families.txt", WALRUS)
    rows = ("--families", "families.txt", "--plan-only")
    got = good_json("audit", config(model_type="walrus", num_hidden_layers=8), *rows)
    check(got["pattern"] == "SFSSSSSF" and got["window"] == 1024 and got["attention"]["kv_heads"] == 4, why=got)
    check("rules of walrus: those of the families file" in got["assumed"] and "full_every = 6" in got["assumed"], why=got)
    got = good_json("audit", config(model_type="walrus_text", num_hidden_layers=4, full_every=2), *rows)
    check(got["pattern"] == "SFSF" and got["source"] == "full_every", why=got)
    got = good_json("audit", config(model_type="odd", kinds=["walk", "stand"], head_width=64, hidden_size=256, num_layers=2), *rows)
    check(got["pattern"] == "LF" and got["linear"]["recurrent_elems"] == 8 * 32 * 64 and got["linear"]["conv_elems"] == 24, why=got)
    check(got["attention"]["head_dim"] == 64, why=got)
    one_line(hopbound("audit", config(model_type="odd", strange_key="so", num_layers=2), *rows), 1, 'strange_key: "so" is not known')
    # an overridden row: qwen3's rule for llama, which llama's own refuses
    slides = config(model_type="llama", num_hidden_layers=2, sliding_window=8, use_sliding_window=True, max_window_layers=1)
    check(good_json("audit", slides, *rows)["pattern"] == "FS")
    one_line(hopbound("audit", slides), 1, "has sliding_window")
    one_line(hopbound("audit", config(model_type="walrus")), 1, 'unknown family: model_type "walrus"')
    check("a head of its own" in good("audit", config(model_type="odd", kinds=["stand"], head_width=8, num_layers=1), *rows).out)
    # of several models, and for networks in a model's shape
    write("a.json", json.dumps({"model_type": "walrus", "num_hidden_layers": 3}))
    write("b.json", read_fixture("llama-3.1-8b"))
    table = good("audit", "a.json", "b.json", "--families", "families.txt", "--format", "csv").out
    check("SSF" in table and "(F)x32" in table, why=table)
    write("like.txt", "family llama: like mistral\n  plan S\n  window 16\n")
    out = good("build", "--like", "b.json", "--families", "like.txt", "--hops", 1, "--m", 4, "--fan", 2, "-o", "net", "--d-model", 64).out
    check(json.load(open("net/config.json"))["pattern"].startswith("window"), why=out)
    one_line(hopbound("build", "hybrid", "--families", "like.txt", "-o", "net2"), 2, "--families: is for --like")


@case
def what_is_wrong_with_a_row_is_said_by_row_and_statement():
    path = config(model_type="llama")
    for text, why in (("family a: plan F if (i, L", "family a: plan: a \\) is missing"),
                      ("family a: plan F if i > 2", "family a: plan: its last letter has a condition"),
                      ("family a: plan X", "family a: plan: a rule is letters"),
                      ("family a: plan names kinds a=Q", "family a: plan: not made of word=LETTER"),
                      ("family a: like nobody", "family a: like: there is no such row"),
                      ("family a: like a", "family a: like: there is no such row"),
                      ("attention a: use a", "attention a: use: there is no such row"),
                      ("family a: plans F", "family a: plans: there is no such statement"),
                      ("family a: class lairs 3", "family a: class: a word in it is not known"),
                      ("family a: class layers x", "family a: class: not a number"),
                      ("family a: window foo", "family a: window: a name in it has no value"),
                      ("family a: window foo:3 4", "family a: window: something else follows"),
                      ("family a: topk bar(3)", "family a: topk: there is no such function"),
                      ("family a: topk " + "(" * 99, "family a: topk: it is nested too deep"),
                      ("family a: state nobody", "family a: state: there is no such row"),
                      ("state s: shape 1, 2", "state s: shape: behind the expression a ',' is missing"),
                      ("attention s: x = ", "attention s: x: a value is missing"),
                      ("common all: inside x", "common all: common: rows begin with"),
                      ("family", "its name is missing"), ("", "no row"), ("  plan F\nfamily a: plan F", "before the first row"),
                      ("family a: plan F\0", "byte 0"), ("#" * 70000, "more than the 65536 bytes")):
        write("f.txt", text)
        one_line(hopbound("audit", path, "--families", "f.txt"), 1, rf"audit: f\.txt: .*{why}")
    one_line(hopbound("audit", path, "--families", "nowhere"), 1, "nowhere: No such file")
    # what cannot be told before: values that run into each other, rows that use each other for ever
    for text, why in (("family llama: plan F if 1 / (i - 1) > 0, L", "llama: .*divides by 0"),
                      ("family llama: plan F; attention a\nattention a: use b; use b\nattention b: use a", "uses itself"),
                      ("family llama: plan F if " + "0 or " * 2000 + "1, L", "it takes too long")):
        write("f.txt", text)
        one_line(hopbound("audit", config(model_type="llama", num_hidden_layers=16384), "--families", "f.txt"), 1, why)


@case
def well_known_decoders_are_not_refused():
    """Files as they are published: keys that other families use must not hinder, nor stale ones."""
    for name, want in json.load(open(os.path.join(TREE, "decoders.json"))).items():
        got = good_json("audit", config(**want["config"]), "--plan-only", keys=KEYS)
        check(got["pattern_short"] == want["pattern_short"], why=f"{name}: {got['pattern_short']}, wanted {want['pattern_short']}")


@case
def a_list_of_attention_layers_is_no_stack_of_recurrences():
    hops = good_json("audit", os.path.join(FAMILIES, "fla-attn-list-small.json"))["hops"]
    check(hops["full_layers"] == 2 and hops["linear_layers"] == 2 and hops["unable"] is None, why=hops)
    hops = good_json("audit", os.path.join(FAMILIES, "delta-net-windows-of-two-lengths.json"), "--n", 1024)["hops"]
    check(hops["full_layers"] == 1, why=hops)  # the longer window covers the prompt, the shorter one does not
    text = " ".join(good("audit", os.path.join(FAMILIES, "delta-net-windows-of-two-lengths.json")).out.split())
    check("window 128 to 1,024 tokens" in text, why=text)


@case
def layers_that_run_again_are_counted_again_and_promise_nothing():
    path = os.path.join(FAMILIES, "ouro-1.4b.json")
    got = good_json("audit", path)
    check(got["hops"]["full_layers"] == 96 and len(got["bytes_per_layer"]) == 96, why=got["hops"])
    check(got["hops"]["able"] is got["hops"]["able_if_wide"] is None and "share their weights" in got["hops"]["why_able_if_wide"],
          why=got["hops"])
    text = " ".join(good("audit", path).out.split())
    check("96 layers in a forward pass (24, run 4 times)" in text and "96 full-attention layers of 96" in text, why=text)
    shared = good_json("audit", fixture("zamba-7b-v1"))["hops"]
    check(shared["able_if_wide"] is None and shared["full_layers"] > 1, why=shared)


def fixture(name):
    return os.path.join(DATA, name + ".json")


def config(**keys):
    return write("config.json", json.dumps(keys))


@case
def an_audit_ends_with_verdicts_at_the_models_own_length():
    got = good_json("audit", fixture("qwen3-next-80b-a3b"), keys=(*KEYS, "hops"))
    hops = got["hops"]
    check(got["n"] == got["context"] == 262144 and hops["full_layers"] == 12 and hops["linear_layers"] == 36, why=hops)
    check(hops["able_if_wide"] == 12 and hops["asked"] == 13 and hops["unable"] is None, why=hops)
    # with states that hold the first tables all that can be posed: 2^18 tokens, tables that double
    check(hops["able"] == 17 and hops["able_by"] == "P10" and hops["tables_held_up_to"] == 35 * 2048 + 2, why=hops)
    results = {r["id"]: r for r in hops["results"]}
    check(results["T2"]["verdict"] == "silent" and results["T2"]["speaks_from_n"].startswith("10^"), why=results["T2"])
    text = " ".join(good("audit", fixture("qwen3-next-80b-a3b")).out.split())
    check("12 full-attention layers of 48" in text and "by T2 no 13-hop composition once n reaches 10^" in text, why=text)
    check("17 hops are possible by P10" in text and "hold the table of a hop up to 71,682 tokens" in text, why=text)
    check("silent at 262,144 tokens" in text and "12 hops are possible (P1) with head dimension >=" in text, why=text)
    check(len(good("audit", fixture("qwen3-next-80b-a3b")).out.splitlines()) <= 30, why="more than a screen")


@case
def a_window_that_covers_the_length_is_full_attention_there():
    path = fixture("mistral-7b-v0.1")
    check(good_json("audit", path)["hops"]["full_layers"] == 0)
    short = good_json("audit", path, "--n", 4096)["hops"]
    check(short["full_layers"] == 32 and short["linear_layers"] == 0, why=short)


@case
def a_stack_of_recurrences_is_refuted_where_its_states_are_too_small():
    got = good_json("audit", fixture("mamba-130m-original"), "--n", 10**7)["hops"]
    check(got["unable"] == 1 and got["unable_by"] == "P2" and got["able"] == 0, why=got)
    words = " ".join(got["words"])
    check("once n reaches 1,033,289, with more ids than the 50,280 of its vocabulary, as it does at 10,000,000 tokens" in words and "1 hop is proved impossible (P2, machine-checked)" in words, why=words)
    silent = good_json("audit", fixture("mamba-130m-original"))["hops"]  # the file gives no length
    check(silent["unable"] is None and all(r["verdict"] == "silent" for r in silent["results"]), why=silent)
    # 24 layers of 24576 float32 and 4608 16-bit numbers: P2 speaks once N log2 N exceeds their bits
    bits = 24 * (24576 * 32 + 4608 * 16)
    p2 = next(r for r in got["results"] if r["id"] == "P2")
    check(f"{bits}" in p2["has"].replace(",", ""), why=p2)


@case
def precisions_and_lengths_can_be_given():
    path = fixture("qwen3-next-80b-a3b")
    got = good_json("audit", path, "--plan-only", "--state-dtype", "bfloat16", "--n", 1000, "--cache-dtype", "float8_e4m3fn")
    check(got["state_bytes_per_layer"] == got["linear"]["bytes_all_16bit"], why=got)
    check(got["linear"]["state_dtype"] == "bfloat16 (given)" and got["n"] == 1000, why=got)
    check(got["bytes_per_layer"][3] == 1000 * 1024 and got["bytes_total"] == sum(got["bytes_per_layer"]), why=got)
    got = good_json("audit", path, "--plan-only", "--conv-dtype", "float32")
    check(got["state_bytes_per_layer"] == 4 * (524288 + 24576), why=got)
    one_line(hopbound("audit", path, "--state-dtype", "float31"), 2, r"--state-dtype: float31: unknown")
    one_line(hopbound("audit", path, "--n", "0"), 2, r"--n")


@case
def a_directory_and_an_own_network_are_audited_too():
    os.mkdir("m")
    write("m/config.json", read_fixture("llama-3.1-8b"))
    check(good_json("audit", "m", "--plan-only")["pattern"] == "F" * 32)
    good("build", "hybrid", "--mixer", "mamba2", "-o", "net", "--hops", 2, "--m", 4, "--fan", 2)
    got = good_json("audit", "net")
    check(got["model_type"] == "hopbound" and got["pattern"] == "LFF" and got["linear"]["kind"] == "mamba2", why=got)
    check(got["hops"]["able_if_wide"] == 2 and got["state_bytes_per_layer"] > 0, why=got["hops"])
    os.remove("net/model.safetensors")
    check(good_json("audit", "net")["pattern"] == "LFF", why="weights are optional")


def read_fixture(name):
    return open(fixture(name), "rb").read()


@case
def markdown_is_a_table_and_a_list():
    out = good("audit", fixture("gpt-oss-20b"), "--format", "markdown").out
    check(out.startswith("## ") and "\n| plan | (SF)x12" in out and "\n- 12 full-attention layers of 24" in out, why=out)


@case
def unknown_architectures_are_not_guessed():
    for keys, why in (({}, "num_hidden_layers"), ({"model_type": "resnet", "num_hidden_layers": 3}, "no decoder"),
                      ({"model_type": "plamo9", "num_hidden_layers": 3, "num_attention_heads": 4, "mamba_step": 2}, "unknown family"),
                      ({"model_type": "llama", "num_hidden_layers": 3, "per_layer_config": {"0": 1}}, "per_layer_config")):
        config(**keys)
        one_line(hopbound("audit", "."), 1, rf"audit: .*{why}")
    one_line(hopbound("audit", "nowhere"), 1, "audit: nowhere: No such file")
    os.mkdir("empty")
    one_line(hopbound("audit", "empty"), 1, r"audit: empty/config\.json: No such file")


@case
def hostile_files_are_one_line_and_quick():
    began = time.monotonic()
    layer = b'"full_attention",' * 400000
    files = [b"", b"{", b"[" * 10**6, b'{"a":' * 10**5, b"\xff\xfe", b"NaN", b"null", b"[1]", b'{"model_type": "llama", "model_type": "x"}',
             b"[" + b"0," * (50 << 20) + b"0]",  # 100 MB
             b'{"model_type":"gpt_oss","layer_types":[' + layer[:-1] + b"]}",
             b'{"model_type":"llama","num_hidden_layers":1000000000000,"num_attention_heads":1,"hidden_size":1}',
             b'{"model_type":"llama","num_hidden_layers":NaN,"num_attention_heads":1}',
             b'{"model_type":"llama","num_hidden_layers":1e400,"num_attention_heads":1}',
             json.dumps({"model_type": "m" * 100000, "num_hidden_layers": 3}).encode()]
    for bad in files:
        write("config.json", bad)
        one_line(hopbound("audit", "config.json"), 1, r"audit: config\.json: ")
    os.remove("config.json")
    check(time.monotonic() - began < 20, why="too slow")


@case
def wrong_types_everywhere_never_crash():
    for name in ("kimi-linear-48b-a3b", "nemotron-3-nano-30b-a3b", "gemma-3-27b-it"):
        keys = json.loads(read_fixture(name))
        inner = keys.get("text_config", keys)
        for key in list(inner):
            kept = inner[key]
            for bad in (None, -1, 2.5, 10**15, "x", ["x"], {}):
                inner[key] = bad
                config(**keys)
                r = hopbound("audit", "config.json", "--plan-only", "--json")
                check(r.code in (0, 1), r, f"{name}: {key} = {bad}")
                if r.code:
                    one_line(r, 1, "audit: config")
            inner[key] = kept


@case
def a_known_key_of_a_wrong_type_is_refused_by_name():
    wrong = {"integer": ("x", [4], {}, 2.5, True), "flag": ("yes", [True], {}, 0.5), "list": ("x", 4, {}, True),
             "object": ("x", 4, [1], True), "string": (4, [1], {}, True)}
    keys = {"integer": "num_hidden_layers hidden_size num_attention_heads num_key_value_heads head_dim sliding_window max_window_layers "
                       "first_k_dense_replace total_ut_steps index_topk max_position_embeddings",
            "flag": "use_sliding_window is_encoder_decoder", "list": "layer_types no_rope_layers attn_layer_indices",
            "object": "linear_attn_config sparse_attention_config text_config", "string": "model_type hybrid_override_pattern dtype"}
    for kind, names in keys.items():
        for key in names.split():
            for value in wrong[kind]:
                if key == "sliding_window" and isinstance(value, list):
                    continue  # one family has a window a layer
                config(**{**SMALL, "model_type": "llama", "num_hidden_layers": 3, key: value})
                one_line(hopbound("audit", "config.json"), 1, rf"audit: config\.json: {key}: ")
    config(**{**SMALL, "model_type": "gla", "num_hidden_layers": 3, "attn": "all"})
    one_line(hopbound("audit", "config.json"), 1, r"config\.json: attn: not an object or a list")


SMALL = {"hidden_size": 64, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 64, "dtype": "bfloat16"}


def hops_of(*args, **keys):
    """What the theorems say of a small model, with the words as one text."""
    got = good_json("audit", config(**{**SMALL, **keys}), *args)["hops"]
    return got, " ".join(got["words"])


@case
def a_window_carries_one_row_less_than_it_sees():
    rows = 2 * 2 * 64 * 16  # keys and values of two heads, in 16 bits
    for window, bits in ((5, 4 * rows), (2, rows)):
        got, words = hops_of("--n", 10**6, model_type="mistral", num_hidden_layers=3, sliding_window=window)
        p2 = next(r for r in got["results"] if r["id"] == "P2")
        check(f"{3 * bits}" in p2["has"].replace(",", ""), why=(window, p2))
    both = ["sliding_attention", "full_attention"] * 2
    got, words = hops_of("--n", 1000, model_type="gpt_oss", num_hidden_layers=4, sliding_window=1, layer_types=both)
    check(got["linear_layers"] == 0 and got["able_if_wide"] == 1 and "before the first" not in words, why=got)
    check("2 full-attention layers of 4, 2 that mix no tokens" in words, why=words)
    got, words = hops_of("--n", 1000, model_type="gpt_oss", num_hidden_layers=4, sliding_window=2, layer_types=both)
    check(got["linear_layers"] == 2 and got["able_if_wide"] == 2, why=got)
    check("1 sliding window before the first full one: 2 hops are possible" in words, why=words)


@case
def chunks_are_no_layers_that_carry():
    got, words = hops_of("--n", 1000, model_type="llama4_text", num_hidden_layers=4, attention_chunk_size=8,
                         no_rope_layers=[1, 0, 1, 0])
    check(got["full_layers"] == 2 and got["linear_layers"] == 2 and got["able_if_wide"] == 1, why=got)
    check("2 layers that attend within chunks" in words and "before the first full" not in words, why=words)
    check("linear" not in words and "between the first two" not in words, why=words)


@case
def keys_and_values_have_widths_of_their_own():
    mla = dict(model_type="deepseek_v2", num_hidden_layers=3, kv_lora_rank=16, qk_nope_head_dim=1, qk_rope_head_dim=2,
               v_head_dim=128)
    got, words = hops_of("--n", 1000, **mla)
    check("here they are 3 for keys, 128 for values, and 32" in words and got["able"] == 0, why=words)
    check(good_json("audit", "config.json", "--plan-only")["hidden_size"] == 64)


@case
def layers_are_called_what_they_are():
    text = " ".join(good("audit", fixture("gemma-3-27b-it")).out.split())
    check("52 sliding windows" in text and "5 sliding windows before the first full one" in text, why=text)
    text = " ".join(good("audit", fixture("phi-4-mini-flash-reasoning")).out.split())
    check("1 full and 7 cross-attention layers of 32" in text, why=text)
    check("9 recurrent layers and 8 sliding windows before the first full one" in text, why=text)
    text = " ".join(good("audit", fixture("mistral-7b-v0.1"), "--n", 4096).out.split())
    check("32 full-attention layers of 32 (the window of 4,096 covers the prompt)" in text, why=text)
    check("P1 idealises: activations are float32, positions are read from tables, no rotary embedding, norm or cap on logits" in text, why=text)
    text = " ".join(good("audit", fixture("lfm2-2.6b")).out.split())
    check("22 short convolutions" in text and "2 short convolutions before the first full one" in text, why=text)


@case
def one_of_a_thing_is_singular_and_thousands_are_separated():
    path = config(model_type="mistral", num_hidden_layers=1, sliding_window=1, hidden_size=1, num_attention_heads=1,
                  num_key_value_heads=1, head_dim=1)
    text = " ".join(good("audit", path, "--n", 1).out.split())
    for words in ("1 layer,", "1 head,", "values of 1 number;", "window 1 token ", "at 1 token (given)", "At 1 token "):
        check(words in text, why=(words, text))
    check(" 1 layers" not in text and " 1 hops" not in text and " 1 tokens" not in text, why=text)
    text = " ".join(good("audit", fixture("mamba-130m-original"), "--n", 10**7).out.split())
    check("once n reaches 1,033,289, with more ids than the 50,280 of its vocabulary, as it does at 10,000,000 tokens" in text, why=text)


@case
def all_that_is_called_assumed_is_listed():
    for name, wanted in (("qwen3-next-80b-a3b", {"state", "conv", "cache"}), ("lfm2-2.6b", {"conv", "cache"}),
                         ("gemma-3-27b-it", {"cache"}), ("mamba-130m-original", {"state", "conv"})):
        for given in (set(), wanted):
            args = [x for kind in given for x in (f"--{kind}-dtype", "float16")]
            got = good_json("audit", fixture(name), "--plan-only", *args)
            listed = {note.split()[0] for note in got["assumed"] if " dtype = " in note}
            check(listed == wanted - given, why=(name, given, got["assumed"]))
            text = good("audit", fixture(name), "--plan-only", *args).out
            check(("16 assumed)" in text or "32 assumed)" in text) == bool(wanted - given), why=text)


@case
def layers_that_borrow_a_cache_keep_no_bytes():
    path = config(model_type="gemma3n_text", num_hidden_layers=35, num_kv_shared_layers=15, dtype="bfloat16")
    got = good_json("audit", path, "--plan-only", "--n", 32768)
    row = 2 * 2 * 256 * 2
    check(got["bytes_per_layer"][20:] == [0] * 15 and got["bytes_per_layer"][19] == 32768 * row, why=got)
    check(got["bytes_total"] == 4 * 32768 * row + 16 * 512 * row, why=got["bytes_total"])
    text = " ".join(good("audit", path, "--plan-only").out.split())
    check("F 64 MiB a layer (3 of 7 read another layer's cache)" in text, why=text)
    check("at 32,768 tokens (the class's context length, assumed)" in text, why=text)


@case
def strings_of_the_file_cannot_break_the_page():
    path = config(**{**SMALL, "model_type": "a`b|c\nd\x1b[2J<i>", "dtype": "x|y\n`z", "layer_types": ["full_attention"] * 2})
    for args in ((), ("--format", "markdown")):
        out = good("audit", path, "--plan-only", *args).out
        check("\x1b" not in out and "\nd" not in out and "\n`z" not in out, why=out)
    lines = out.splitlines()
    check(lines[0] == "## Layers and hops of a\\`b\\|c d \\[2J\\<i>", why=lines[0])
    check(all(line.replace("\\|", "").count("|") == 3 for line in lines if line.startswith("|")), why=out)
    check(json.loads(good("audit", path, "--plan-only", "--json").out)["model_type"] == "a`b|c\nd\x1b[2J<i>")


@case
def devices_and_pipes_are_read_or_refused_at_once():
    began = time.monotonic()
    if os.path.exists("/dev/zero"):
        one_line(hopbound("audit", "/dev/zero"), 1, "audit: /dev/zero: neither a file nor a pipe")
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe")
        one_line(hopbound("audit", "pipe"), 1, "audit: pipe: a pipe that nobody writes to")
    check(time.monotonic() - began < 10, why="too slow")
    if os.path.exists("/dev/stdin"):
        text = json.dumps({**SMALL, "model_type": "llama", "num_hidden_layers": 3})
        check(good_json("audit", "/dev/stdin", "--plan-only", stdin=text)["pattern"] == "FFF")
        one_line(hopbound("audit", "/dev/stdin", stdin=""), 1, "audit: /dev/stdin: ")


@case
def a_model_that_is_too_narrow_is_told_so():
    got, words = hops_of("--n", 1000, model_type="llama", num_hidden_layers=3, head_dim=4)
    check(got["able_if_wide"] == 2 and got["able"] == 0, why=got)
    check("here they are 4 and 32, and no hop is known to be possible: enough layers, but" in words, why=words)


@case
def many_models_are_one_table_in_every_format():
    table = good_json("audit", DATA, keys=("n", "models", "refused"))
    rows = {r["model"]: r for r in table["models"]}
    check(table["n"] == 32768 and len(rows) == 39 and [os.path.basename(r["path"]) for r in table["refused"]] == ["expected.json"])
    check("unknown family" in table["refused"][0]["why"])
    qwen = rows["qwen3-next-80b-a3b"]
    one = good_json("audit", os.path.join(DATA, "qwen3-next-80b-a3b.json"), "--n", "32k")
    check(qwen["full_layers"] == 12 and qwen["hops_possible"] == one["hops"]["able"] == 14, why=str(qwen))
    check(qwen["kv_bytes"] + qwen["state_bytes"] == one["bytes_total"] and qwen["state_bytes"] == 36 * one["state_bytes_per_layer"])
    n = int(qwen["tables_outgrow_states_at"]) - 2  # the first table of one hop that the states do not hold
    check(n * math.log2(n) > qwen["state_bytes"] * 8 >= (n - 1) * math.log2(n - 1), why=str(n))
    check(rows["jamba-v0.1"]["hops_possible"] == 4 and rows["jamba-v0.1"]["tables_held_up_to"] is None, why="Mamba's are not known to")
    check(rows["rwkv7-0.4b-world"]["impossible_by"] == "P2" and rows["rwkv7-0.4b-world"]["hops_impossible"] == 1)
    check(rows["llama-3.1-8b"]["tables_outgrow_states_at"] is None and rows["deepseek-v3.2"]["tables_outgrow_states_at"] is None)
    lines = good("audit", DATA).out.splitlines()
    check(sum(any(line.startswith(name) for line in lines) for name in rows) == 39 and max(map(len, lines[:43])) <= 130)
    found = list(csv.DictReader(good("audit", DATA, "--format", "csv").out.splitlines()))
    check(list(found[0]) == list(qwen) and {r["model"]: r["hops_possible"] for r in found} ==
          {name: "" if r["hops_possible"] is None else str(r["hops_possible"]) for name, r in rows.items()})
    rows = [l for l in good("audit", DATA, "--format", "markdown").out.splitlines() if l.startswith("|")]
    check(len(rows) == 41 and {l.count("|") for l in rows} == {12}, rows[:2])
    check(json.loads(good("audit", DATA, "--format", "json").out) == table)


@case
def hops_that_no_theorem_counts_are_a_dash_with_the_reason_and_not_a_zero():
    """Shared weights are outside P1 and P10; a stack of Mamba is inside, and none is proved."""
    shared, sparse = "layers share their weights", "layers pick or compress tokens"
    wanted = {"zamba-7b-v1": (None, shared), "zamba2-2.7b": (None, shared), "deepseek-v3.2": (None, sparse), "deepseek-v4-flash": (None, sparse), "minimax-m3": (2, None),
              "mamba-130m-original": (0, None)}
    paths = [fixture(name) for name in wanted]
    rows = good_json("audit", *paths)["models"]
    check({r["model"]: (r["hops_possible"], r["hops_not_counted"]) for r in rows} == wanted, why=str(rows))
    for name, (able, _) in wanted.items():
        check(good_json("audit", fixture(name), "--n", "32k")["hops"]["able"] == able, why=name)
    cells = {line.split()[0]: line.split() for line in good("audit", *paths).out.splitlines() if line}
    check(cells["zamba-7b-v1"][8] == cells["deepseek-v3.2"][8] == "-" and cells["minimax-m3"][8] == "2", why=str(cells))
    for form, mark in (("text", "possible -"), ("markdown", "Hops possible -")):
        out = good("audit", *paths, "--format", form).out
        check(f"{mark}: no theorem here says how many, where {shared}: zamba-7b-v1, zamba2-2.7b.\n" in out, why=out)
        check(f"{mark}: no theorem here says how many, where {sparse}: deepseek-v3.2, deepseek-v4-flash.\n" in out, why=out)
        check("no theorem here says" not in good("audit", *paths[4:], "--format", form).out)
    markdown = good("audit", *paths, "--format", "markdown").out
    check([l.split("|")[7].strip() for l in markdown.splitlines() if l.startswith("| ")] == ["hops possible", "-", "-", "-", "-", "2", "0"], why=markdown)
    found = csv.DictReader(good("audit", *paths, "--format", "csv").out.splitlines())
    check({r["model"]: (r["hops_possible"], r["hops_not_counted"]) for r in found} ==
          {name: ("" if able is None else str(able), why or "") for name, (able, why) in wanted.items()})
    good("audit", *paths, "--report", "page.html")
    page = open("page.html").read()
    shown = re.findall(r'<td data-label="hops possible"[^>]*>([^<]*)<', page)
    check(shown == ["–"] * 4 + ["2", "0"], why=str(shown))


@case
def named_models_are_compared_and_drawn():
    names = ["qwen3-next-80b-a3b", "kimi-linear-48b-a3b", "jamba-v0.1", "llama-3.1-8b"]
    paths = [os.path.join(DATA, n + ".json") for n in names]
    table = good_json("audit", *paths, "--n", "128k", "--report", "models.html")
    check([r["model"] for r in table["models"]] == names and table["n"] == 131072)
    page = open("models.html").read()
    check(page.count("<svg") == 2 and all(n in page for n in names) and "<script" not in page)
    one_line(hopbound("audit", paths[0], "missing.json"), 1, r"missing.json")
    one_line(hopbound("audit", *paths, "--plan-only"), 2, r"--plan-only: is for one model")
    os.makedirs("models/a", exist_ok=True)
    write("models/a/config.json", open(paths[0]).read())
    check([r["model"] for r in good_json("audit", "models")["models"]] == ["a"])
    check("pattern" in good_json("audit", "models/a"))  # one model's directory is that model


@case
def plans_without_a_linear_layer_first_are_asked_of_p7():
    # F F L L: no layer carries before the second full one: P7 speaks of as many hops as there are full layers.
    write("ffl.json", json.dumps({"model_type": "olmo_hybrid", "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 1,
          "num_key_value_heads": 1, "layer_types": ["full_attention"] * 2 + ["linear_attention"] * 2, "vocab_size": 100,
          "max_position_embeddings": 4096, "linear_num_key_heads": 1, "linear_num_value_heads": 1, "linear_key_head_dim": 16,
          "linear_value_head_dim": 16}))
    a = good_json("audit", "ffl.json", "--n", "1e12")
    check(a["hops"]["unable"] == 2 and a["hops"]["unable_by"] in ("P7", "P7G"), why=str(a["hops"]["words"]))
    check(any("2-hop" in w for w in a["hops"]["words"]), why=str(a["hops"]["words"]))


@case
def our_own_networks_are_judged_at_the_sizes_of_their_task():
    builds = {"linear": ["linear"], "mixed": ["mixed", "--pattern", "L F L"], "hybrid": ["hybrid"], "full": ["full"],
              "mamba": ["hybrid", "--mixer", "mamba"], "rglru": ["hybrid", "--mixer", "rglru"], "lightning": ["hybrid", "--mixer", "lightning"]}
    for name, kind in builds.items():
        good("build", *kind, "--hops", 2, "--m", 6, "--fan", 4, "-o", "ours/" + name, "-q")
        check(good_json("prove", "ours/" + name)["verdict"] == "proved")
        own = good_json("audit", "ours/" + name)["hops"]["own"]
        check((own["hops"], own["m"], own["fan"], own["verdict"]) == (2, 6, [4], "possible"), why=f"{name}: {own}")
        check("own task (hops 2, m 6, fan 4) 2 hops are possible" in " ".join(good("audit", "ours/" + name).out.split()))
    table = good_json("audit", "ours")["models"]
    check(all(row["hops_possible_at_own_sizes"] == 2 for row in table) and len(table) == len(builds), why=str(table))
    check("0, 2*" in good("audit", "ours").out and "*: at the sizes of its own task" in good("audit", "ours").out)
    # weights that no one has written down: the plan alone is judged, and of it a theorem says no
    good("build", "random", "--pattern", "linear F linear", "--d-model", 8, "--head-dim", 2, "--hops", 2, "--m", 371, "--fan", 102, "-o", "narrow", "-q")
    own = good_json("audit", "narrow")["hops"]["own"]
    check(own["verdict"] == "impossible" and own["by"].startswith("P"), why=str(own))
    check(good_json("audit", os.path.join(DATA, "jamba-v0.1.json"))["hops"]["own"] is None)


@case
def a_configuration_may_be_given_instead_of_a_file():
    path = fixture("qwen3-next-80b-a3b")
    file, given = good_json("audit", path, "--plan-only"), good_json("audit", "--config", read_fixture("qwen3-next-80b-a3b").decode(), "--plan-only")
    check(file.pop("path") == path and given.pop("path") is None and file == given, why=str(given))
    check(good("audit", "--config", json.dumps({**SMALL, "model_type": "llama", "num_hidden_layers": 3})).out.startswith("config: llama\n"))
    one_line(hopbound("audit", "--config", "{"), 2, r"audit: --config: line 1, column 2: ")
    one_line(hopbound("audit", "--config", "[1]"), 1, r"audit: config: ")
    one_line(hopbound("audit", "--config", '{"model_type": "plamo9"}'), 1, r"audit: config: ")
    one_line(hopbound("audit", path, "--config", "{}"), 2, r"--config: instead of a PATH")
    one_line(hopbound("audit", "--config", "{}", "--table"), 2, r"--config: is one model")
    one_line(hopbound("audit"), 2, r"PATH\.\.: missing")


@case
def one_model_may_be_a_table_too():
    path = fixture("jamba-v0.1")
    row = good_json("audit", path, "--table")["models"]
    check(len(row) == 1 and good("audit", path, "--format", "csv").out.splitlines()[1].startswith("jamba-v0.1,"), why=str(row))
    check(good_json("audit", path, "--format", "csv")["models"] == row)
