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
        got = good_json("audit", os.path.join(DATA, name + ".json"), keys=KEYS)
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
