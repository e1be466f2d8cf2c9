"""Audits: the fixtures of real models, own networks, and files that are no use."""
import json, os, time
from harness import case, check, good, good_json, hopbound, one_line, write

DATA = os.path.join(os.environ.get("HOPBOUND_TEST_DATA") or os.path.join(os.path.dirname(__file__), "../data"), "configs")
DATA = os.path.abspath(DATA)
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


def fixture(name):
    return os.path.join(DATA, name + ".json")


def config(**keys):
    return write("config.json", json.dumps(keys))


@case
def an_audit_ends_with_verdicts_at_the_models_own_length():
    got = good_json("audit", fixture("qwen3-next-80b-a3b"), keys=(*KEYS, "hops"))
    hops = got["hops"]
    check(got["n"] == got["context"] == 262144 and hops["full_layers"] == 12 and hops["linear_layers"] == 36, why=hops)
    check(hops["able"] == 12 and hops["asked"] == 13 and hops["unable"] is None, why=hops)
    results = {r["id"]: r for r in hops["results"]}
    check(results["T2"]["verdict"] == "silent" and results["T2"]["speaks_from_n"].startswith("10^"), why=results["T2"])
    text = " ".join(good("audit", fixture("qwen3-next-80b-a3b")).out.split())
    check("12 full-attention layers of 48" in text and "by T2 no 13-hop composition once n reaches 10^" in text, why=text)
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
    check("once n reaches 1033289, as it does at 10,000,000 tokens" in words and "1 hop is proved impossible (P2)" in words, why=words)
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
    for keys, why in (({}, "num_hidden_layers"), ({"model_type": "resnet", "num_hidden_layers": 3}, "num_attention_heads"),
                      ({"model_type": "plamo9", "num_hidden_layers": 3, "num_attention_heads": 4, "mamba_step": 2}, "mamba_step"),
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
