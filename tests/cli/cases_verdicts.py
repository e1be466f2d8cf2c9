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
    check(eighth["able_by"] == "P1" and eighth["able"] == 11, why="a code is carried by 11 bits or more, beside so many cuts by 15")
    check("p in a linear state >= 15 (here 8)" in " ".join(eighth["words"]), why=str(eighth["words"]))
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


MODEL = "causal, in one pass, with partial softmaxes and states of p-bit numbers; MLPs and positions are free"
IDEAL = ("activations are float32, positions are read from tables, no rotary embedding, norm or cap on logits is in the way, "
         "and MLPs and the vocabulary are large enough; training need not find such weights")


def flat(text):
    return " ".join(text.split())


@case
def every_verdict_stands_with_what_it_supposes():
    """Any weights of which networks, and what is left aside where weights are known: in words and for scripts."""
    qwen, jamba = fixture("qwen3-next-80b-a3b"), fixture("jamba-v0.1")
    commands = (["bound", "--hops", 2, "--pattern", "L F L", "--n", 100000], ["bound", "--hops", 2, "--pattern", "L F F", "--n", 1000],
                ["bound", "--hops", 2, "--pattern", "L F L", "--solve", "n"], ["bound", "--hops", 1, "--pattern", "F F F", "--n", 99, "--solve", "dim"],
                ["bound", "--hops", "auto", "--pattern", "gdn^4", "--dim", 64], ["plan", "--hops", 2, "--n", 1000],
                ["separate", "--hops", 1], ["audit", qwen, jamba], ["audit", qwen])
    for args in commands:
        value, text = good_json(*args), flat(good(*args).out)
        one = value["hops"] if args == ["audit", qwen] else value
        check((one["model"], one["idealised"]) == (MODEL, IDEAL), why=str(args))
        says = [word in text for word in ("impossible: for any weights of networks that are", "Impossible is said of any weights of networks that are")]
        check(not any(says) or MODEL in text, why=f"{args}\n{text}")
        check(MODEL in text or IDEAL in text, why=f"{args}\n{text}")
    for args in commands[0], commands[2], commands[5], commands[6], commands[7], commands[8]:
        check(MODEL in flat(good(*args).out), why=str(args))
    for args in commands[1], commands[3], commands[4], commands[5], commands[7], commands[8]:
        check(IDEAL in flat(good(*args).out), why=str(args))
    for verb in "bound", "plan", "separate", "ladder":
        check(MODEL in flat(good(verb, "--help").out), why=verb)
    page = flat(read_file_of_audit(qwen, jamba))
    check(MODEL in page and IDEAL in page and "A star: at sizes that take more ids" in page, why=page)
    text = flat(good("audit", qwen, jamba, "--format", "markdown").out)
    check(MODEL in text and IDEAL in text, why=text)


def read_file_of_audit(*models):
    good("audit", *models, "--report", "models.html")
    return open("models.html", encoding="utf-8").read()


@case
def nothing_is_called_unproved_beside_what_is_proved():
    model = fixture("mamba-codestral-7b")
    at = hops_of(model, "--n", 4096)
    words = " ".join(at["words"])
    check(at["able"] == 11 and "11 hops are possible by P10" in words and "No hop is proved" not in words, why=words)
    check("no hop is proved" not in at["why_able_if_wide"], why=at["why_able_if_wide"])
    words = " ".join(hops_of(model)["words"])
    check("hold the table of one up to 64,514 tokens" in words and "No hop is proved" not in words, why=words)
    first = good("bound", "--hops", "auto", "--pattern", "gdn^4", "--heads", 16, "--dim", 128).out.splitlines()[0]
    check(first.startswith("At every length no hop is proved possible, up to n = 6146 one is (P10), 1 hop is impossible from n = "), why=first)


@case
def what_takes_more_ids_than_there_are_is_said():
    model = fixture("mamba-codestral-7b")  # 32,768 ids
    got = good_json("audit", model, "--n", 10**8)
    hops, words = got["hops"], " ".join(got["hops"]["words"])
    check(got["vocabulary"] == 32768 and hops["unable"] == 1 and hops["unable_within_vocabulary"] is False, why=str(hops))
    check(hops["unable_ids"] == 82837554 and "with tables of 82,837,554 ids; its vocabulary has 32,768, so that no such prompt" in words, why=words)
    check("once n reaches 82,837,556, with more ids than the 32,768 of its vocabulary, as it does at 100,000,000 tokens" in words, why=words)
    small = dict(model_type="mamba2", num_hidden_layers=1, hidden_size=64, head_dim=32, num_heads=4, state_size=4, n_groups=1,
                 expand=2, conv_kernel=4, vocab_size=10**6)
    hops = hops_of(config(**small), "--n", 10**5)
    check(hops["unable"] == 1 and hops["unable_within_vocabulary"] is True and "once n reaches 2,081, as it does at" in " ".join(hops["words"]), why=str(hops))
    del small["vocab_size"]
    hops = hops_of(config(**small), "--n", 10**5)
    check(hops["unable"] == 1 and hops["unable_within_vocabulary"] is None, why=str(hops))
    table = good_json("audit", model, fixture("jamba-v0.1"))["models"]
    check(all(r["impossible_beyond_vocabulary"] and r["tables_outgrow_beyond_vocabulary"] for r in table), why=str(table))
    out = good("audit", model, fixture("jamba-v0.1")).out
    check("82,837,556 P2+^" in out and "\n^: at sizes that take more ids than the model's vocabulary has" in out, why=out)
