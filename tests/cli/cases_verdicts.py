"""Verdicts about real models and patterns: what is counted, what a line supposes, and what is refused."""
import json, os, re
from harness import case, check, good, good_json, hopbound, one_line, write
from cases_audit import config, fixture, read_fixture


def hops_of(path, *args):
    return good_json("audit", path, *args)["hops"]


@case
def windows_keep_their_rows_whatever_is_said_of_states():
    """`build full --pattern "W W" --hops 1 --m 16` is proved: nothing may call it impossible."""
    got = good_json("bound", "--hops", 1, "--pattern", "W W", "--window", 512, "--dim", 64, "--state-bits", 10, "--m", 16)
    check(got["verdict"] != "impossible", why=str(got["answer"]))
    good("build", "full", "--pattern", "W W", "--hops", 1, "--m", 16, "-o", "windows")
    good("prove", "windows")
    one = ["--pattern", "W F", "--window", 1, "--state-bits", 96, "--dim", 9, "--bits", 16, "--d-model", 30, "--m", 35]
    got = good_json("bound", "--hops", 1, *one)
    check((got["verdict"], got["by"], got["linear_layers"]) == ("impossible", "P5", 0), why=str(got["answer"]))


@case
def t6_counts_all_numbers_of_a_reply():
    got = good_json("bound", "--hops", 2, "--pattern", "F", "--dim", 1, "--bits", 11, "--m", 8, "--fan", 2)
    check(got["verdict"] == "open", why=got["answer"])


@case
def states_of_few_bits_hold_no_tables():
    model = fixture("qwen3-next-80b-a3b")
    whole, half, eighth = (hops_of(model, "--state-dtype", t) for t in ("float32", "bfloat16", "float8_e4m3fn"))
    check(whole["able_by"] == "P10" and whole["tables_held_up_to"] > 0, why=str(whole))
    check(half["able_by"] == "P1" and half["tables_held_up_to"] is None and half["able"] == 12, why=str(half))
    check(eighth["able_by"] == "P1" and eighth["able"] == 11, why="a code is carried by 11 bits or more")
    check("p in a linear state >= 14 (here 8)" in " ".join(eighth["words"]), why=str(eighth["words"]))
    for name in ("kimi-linear-48b-a3b", "mamba-codestral-7b", "nemotron-nano-9b-v2", "olmo-hybrid-7b"):
        got = hops_of(fixture(name), "--state-dtype", "float8_e4m3fn", "--n", 4096)
        check(got["able_by"] != "P10" and got["tables_held_up_to"] is None, why=f"{name}: {got['words']}")


@case
def messages_are_as_wide_as_what_a_softmax_may_sum_up():
    """MLA in absorbed form sums latent vectors up, differential attention the values of two heads."""
    for name, wide, heads in (("kimi-linear-48b-a3b", 512, 32), ("phi-4-mini-flash-reasoning", 128, 40)):
        got = good_json("audit", fixture(name))
        check(got["attention"]["reply_dim"] == wide, why=str(got["attention"]))
        check(any(note.startswith(f"M counts {wide} numbers a head (") for note in got["assumed"]), why=str(got["assumed"]))
    keys = dict(model_type="llama", num_hidden_layers=1, num_attention_heads=4, hidden_size=256, max_position_embeddings=4096)
    plain, doubled = (good_json("audit", config(**keys, **more)) for more in ({}, {"use_diff_attn": True}))
    p5 = [next(r for r in x["hops"]["results"] if r["id"] == "P5")["has"] for x in (plain, doubled)]
    check(p5 == [f"M = H(d+2)p = {4 * (d + 2) * 32} bits" for d in (64, 128)], why=str(p5))
